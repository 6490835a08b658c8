"""Reading and merging nested data by Salt's rules: `a:b:0` paths, and the merge strategies of pillar.

Used by the functions of templates, targeting and pillar. Works on any Mapping, recording views included.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from typing import Any

from highstate.aggregation import JoinableMap, joined
from highstate.types import Value

MISSING: Value = object()
"""A default that no data holds, for callers who must tell "not there" from any value."""


def traverse(data: Value, path: Value, default: Value = None, *, delimiter: str = ":") -> Value:
    """The value at `path` ("a:b:0", an integer, or the steps themselves), or `default`.

    It answers what Salt's `traverse_dict_and_list` answers: each step is a key of a mapping, as it is or as YAML
    reads it ("80" is 80), or in a list a key of one of its mappings, else an index.
    """
    steps = path.split(delimiter) if isinstance(path, str) else [path] if isinstance(path, int) else path
    value = data
    for step in steps:
        value = _in_list(value, step) if isinstance(value, list) else _in_value(value, step)
        if value is MISSING:
            return default
    return value


def _in_list(items: list[Value], step: Value) -> Value:
    try:
        index = int(step)
    except ValueError:
        return _in_mappings(items, step)
    found = _in_mappings(items, index)
    if found is not MISSING:
        return found
    return items[index] if -len(items) <= index < len(items) else MISSING


def _in_mappings(items: list[Value], key: Value) -> Value:
    return next((item[key] for item in items if isinstance(item, (dict, Mapping)) and key in item), MISSING)


def _in_value(value: Value, step: Value) -> Value:
    try:
        return value[step]
    except TypeError:  # no container, or one that has no such kind of key
        return MISSING
    except KeyError:
        pass
    read = _read(step) if isinstance(step, str) else step
    if read == step:
        return MISSING
    try:
        return value[read]
    except (KeyError, TypeError):
        return MISSING


@lru_cache(maxsize=4096)
def _read(step: str) -> Value:
    """A step as YAML reads it: `ports:80` must find the key 80, which YAML read as a number."""
    from highstate.salt_yaml import read_word  # deferred: an agent that is idle has no YAML in memory

    return read_word(step)


def update(
    target: MutableMapping[Any, Value], source: Mapping[Any, Value], *, merge_lists: bool = False
) -> MutableMapping[Any, Value]:
    """Merge `source` into `target`, in place and deep. Lists are replaced, or joined by `join_lists`."""
    if not isinstance(target, MutableMapping) or not isinstance(source, Mapping):
        raise TypeError(f"only mappings can be merged, not {type(target).__name__} with {type(source).__name__}")
    for key in list(source):
        value, old = source[key], target.get(key)
        if isinstance(old, MutableMapping) and isinstance(value, Mapping):
            target[key] = update(old, value, merge_lists=merge_lists)
        elif merge_lists and isinstance(old, list) and isinstance(value, list):
            target[key] = join_lists(old, value)
        else:
            target[key] = value
    return target


def join_lists(old: list[Value], new: list[Value]) -> list[Value]:
    """`old`, and what `new` has besides; what stands twice in `new` still does, as in Salt."""
    return [*copy.deepcopy(old), *(item for item in new if item not in old)]


def merge(
    old: Mapping[Any, Value], new: Mapping[Any, Value], *, strategy: str = "smart", merge_lists: bool = False
) -> dict[Any, Value]:
    """Both merged by a strategy of `pillar_source_merging_strategy`; neither is changed, and their values are shared.

    `smart` and unknown ones are `recurse`; `overwrite` replaces whole top-level values; `list` pairs the values
    of the keys that both have; `aggregate` is `recurse` for plain data with lists joined at the first level.
    """
    match strategy:
        case "list":
            return {key: [value, new[key]] if key in new else value for key, value in old.items()}
        case "overwrite":
            return {**old, **new}
        case "aggregate":
            return _aggregate(old, new)
        case "none":
            merge_lists = False
    return _over(dict(old), new, merge_lists)


def _over(old: dict[Any, Value], new: Mapping[Any, Value], merge_lists: bool) -> dict[Any, Value]:
    """`new` over `old`, as by `update`; neither is changed, and the result shares with both what is as it was."""
    merged = type(old)(old)
    for key, value in new.items():
        below = merged.get(key)
        if isinstance(below, dict) and isinstance(value, Mapping):
            merged[key] = _over(below, value, merge_lists)
        elif merge_lists and isinstance(below, list) and isinstance(value, list):
            merged[key] = join_lists(below, value)
        else:
            merged[key] = value
    return merged


def _aggregate(old: Mapping[Any, Value], new: Mapping[Any, Value]) -> dict[Any, Value]:
    """What is marked is joined, at the first level all is; the new one stands elsewhere, as with yamlex in Salt."""
    merged: dict[Any, Value] = joined(JoinableMap(copy.deepcopy(dict(old))), JoinableMap(copy.deepcopy(dict(new))))
    return merged
