"""Salt's Jinja filters for lists and mappings."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any

from jinja2.exceptions import TemplateRuntimeError

from highstate import seeded
from highstate.memo.tracked import TrackedMapping
from highstate.types import Value


def unique(values: Value) -> Value:
    """Without repeats: a list in its order, a set of anything hashable."""
    if isinstance(values, Hashable):
        return _ordered_set(values)  # type: ignore[arg-type]  # strings and tuples are what is hashable here
    kept: list[Value] = []
    for value in values:
        if value not in kept:
            kept.append(value)
    return kept


def _ordered_set(values: Iterable[Value]) -> list[Value]:
    """A set's content in a fixed order: Salt gives a set here, whose order changes from run to run."""
    return list(dict.fromkeys(values))


def union(one: Value, two: Value) -> Value:
    """What is in either, in order."""
    return unique([*one, *two])


def intersect(one: Value, two: Value) -> Value:
    """What is in both."""
    return unique([item for item in one if item in two])


def difference(one: Value, two: Value) -> Value:
    """What is in the first alone."""
    return unique([item for item in one if item not in two])


def symmetric_difference(one: Value, two: Value) -> Value:
    """What is in one of both."""
    return unique([*(item for item in one if item not in two), *(item for item in two if item not in one)])


def average(values: Value) -> float:
    """`|avg`."""
    return float(sum(values) / len(values)) if not isinstance(values, Hashable) else float(values)  # type: ignore[arg-type]


def flatten(values: Iterable[Value], levels: int | None = None, preserve_nulls: bool = False) -> list[Value]:
    """Lists in lists as one list."""
    flat: list[Value] = []
    for item in values:
        if not preserve_nulls and item in (None, "None", "null"):
            continue
        if isinstance(item, list | tuple | set) and (levels is None or levels >= 1):
            flat.extend(flatten(item, None if levels is None else levels - 1, preserve_nulls))
        else:
            flat.append(item)
    return flat


def to_entries(data: Value) -> list[dict[str, Value]]:
    """[{key: ..., value: ...}, ...] of a mapping or list."""
    pairs = data.items() if isinstance(data, Mapping) else enumerate(data)
    return [{"key": key, "value": value} for key, value in pairs]


def from_entries(entries: Iterable[Mapping[str, Value]]) -> dict[Value, Value]:
    """The inverse of `to_entries`."""
    made: dict[Value, Value] = {}
    for entry in entries:
        lowered = {str(key).lower(): value for key, value in entry.items()}
        key = lowered.get("key") or lowered.get("name")
        if key:
            made[key] = lowered.get("value")
    return made


def sample(values: Sequence[Value], size: int, seed: Value = None) -> list[Value]:
    """`|random_sample` with a seed, as Salt draws it."""
    if seed is None:
        raise TemplateRuntimeError("without a seed this gives another result on each compile: pass seed=grains.id")
    return seeded.sample(seed, values, size)


def shuffle(values: Sequence[Value], seed: Value = None) -> list[Value]:
    """`|random_shuffle` with a seed."""
    return sample(values, len(values), seed)


def _count_true(values: Iterable[Value], amount: int = 1) -> bool:
    return sum(1 for value in values if value) == amount


def _compare_dicts(old: Mapping[str, Value], new: Mapping[str, Value]) -> dict[str, Value]:
    keys = [*old, *(key for key in new if key not in old)]
    return {
        key: {"old": old.get(key, ""), "new": new.get(key, "")}
        for key in keys
        if (key in old) != (key in new) or old[key] != new[key]
    }


def _compare_lists(old: list[Value], new: list[Value]) -> dict[str, Value]:
    sides = {"new": [item for item in new if item not in old], "old": [item for item in old if item not in new]}
    return {side: items for side, items in sides.items() if items}


def _at_key(apply: Callable[[dict[Any, Any], Any, Value], None]) -> Callable[..., Value]:
    """A filter that changes the value at a path `a:b`, making the mappings on the way."""

    def change(data: dict[Any, Any], path: str, value: Value, delimiter: str = ":") -> Value:
        *way, last = path.split(delimiter)
        inner: Any = data
        for key in way:
            if not isinstance(inner.get(key), dict | TrackedMapping):
                inner[key] = {}
            inner = inner[key]
        apply(inner, last, value)
        return data

    return change


def _set_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = value


def _update_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = {**(inner.get(key) or {}), **value}


def _append_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = [*(inner.get(key) or []), value]


def _extend_key(inner: dict[Any, Any], key: Any, value: Value) -> None:
    inner[key] = [*(inner.get(key) or []), *value]


DATA_FILTERS: Mapping[str, Callable[..., Value]] = {
    "unique": unique,
    "avg": average,
    "union": union,
    "intersect": intersect,
    "difference": difference,
    "symmetric_difference": symmetric_difference,
    "flatten": flatten,
    "to_entries": to_entries,
    "from_entries": from_entries,
    "random_sample": sample,
    "random_shuffle": shuffle,
    "exactly_n_true": _count_true,
    "exactly_one_true": _count_true,
    "compare_dicts": _compare_dicts,
    "compare_lists": _compare_lists,
    "set_dict_key_value": _at_key(_set_key),
    "update_dict_key_value": _at_key(_update_key),
    "append_dict_key_value": _at_key(_append_key),
    "extend_dict_key_value": _at_key(_extend_key),
}
