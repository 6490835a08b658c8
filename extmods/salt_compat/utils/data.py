"""`salt.utils.data`: nested data."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from highstate.traverse import traverse


def is_true(value: Any = None) -> bool:
    """Words and numbers that mean yes."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1") or (value.strip().isdigit() and int(value) > 0)
    return value > 0 if isinstance(value, int | float) else bool(value)


def traverse_dict(data: Any, key: str, default: Any = None, delimiter: str = ":") -> Any:
    """The value at a path of keys."""
    for step in key.split(delimiter):
        if not isinstance(data, Mapping) or step not in data:
            return default
        data = data[step]
    return data


def traverse_dict_and_list(data: Any, key: str, default: Any = None, delimiter: str = ":") -> Any:
    """The value at a path of keys and indexes."""
    return traverse(data, key, default, delimiter=delimiter)


def repack_dictlist(data: Any, strict: bool = False, recurse: bool = False, **hooks: Any) -> dict[Any, Any]:
    """`[{a: 1}, {b: 2}, c]` as one mapping."""
    if isinstance(data, Mapping):
        return dict(data)
    found: dict[Any, Any] = {}
    for item in data or ():
        if not isinstance(item, Mapping):
            found[item] = None
            continue
        for key, value in item.items():
            nested = recurse and isinstance(value, list) and all(isinstance(one, Mapping) for one in value)
            found[key] = repack_dictlist(value, recurse=True) if nested else value
    return found


def compare_dicts(old: Mapping[Any, Any] | None = None, new: Mapping[Any, Any] | None = None) -> dict[Any, Any]:
    """What differs, as `changes` shows it."""
    old, new = old or {}, new or {}
    return {
        key: {"old": old.get(key, ""), "new": new.get(key, "")}
        for key in dict.fromkeys((*new, *old))
        if key not in old or key not in new or old[key] != new[key]
    }


def filter_falsey(data: Any, recurse_depth: int | None = None, ignore_types: tuple[type, ...] = ()) -> Any:
    """Without what counts as false."""
    if isinstance(data, Mapping):
        return type(data)({k: v for k, v in data.items() if v or isinstance(v, ignore_types)})  # type: ignore[call-arg]
    return [value for value in data if value or isinstance(value, ignore_types)]


def decode(data: Any, encoding: str = "utf-8", errors: str = "strict", **options: Any) -> Any:
    """Bytes anywhere inside as text."""
    if isinstance(data, bytes):
        return data.decode(encoding, errors)
    if isinstance(data, Mapping):
        return {decode(k, encoding, errors): decode(v, encoding, errors) for k, v in data.items()}
    if isinstance(data, list | tuple | set):
        return type(data)(decode(value, encoding, errors) for value in data)
    return data


def is_list(value: Any) -> bool:
    """Whether it is a list."""
    return isinstance(value, list)


def is_iter(value: Any, ignore: tuple[type, ...] = (str,)) -> bool:
    """Whether it can be gone through, text excepted."""
    return isinstance(value, Iterable) and not isinstance(value, ignore)


def flatten(data: Any) -> list[Any]:
    """Lists in lists as one list."""

    def walk(value: Any) -> Iterator[Any]:
        for one in value:
            yield from walk(one) if isinstance(one, list | tuple) else (one,)

    return list(walk(data))


class CaseInsensitiveDict(dict[str, Any]):
    """Keys without regard to case."""

    def __init__(self, data: Mapping[str, Any] | None = None, **more: Any) -> None:
        super().__init__({key.lower(): value for key, value in {**(data or {}), **more}.items()})

    def __getitem__(self, key: str) -> Any:
        return super().__getitem__(key.lower())

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key.lower(), value)

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key.lower() if isinstance(key, str) else key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value, or the default."""
        return super().get(key.lower(), default)


deepcopy = copy.deepcopy
