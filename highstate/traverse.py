"""Reading and merging nested data by Salt's rules: `a:b:0` paths, and the merge strategies of pillar.

Used by the functions of templates, targeting and pillar. Works on any Mapping, recording views included.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, MutableMapping
from functools import lru_cache
from typing import Any

import yaml

from highstate.aggregation import JoinableMap, joined
from highstate.types import Value

_MISSING = object()


def traverse(data: Value, path: Value, default: Value = None, *, delimiter: str = ":") -> Value:
    """The value at `path` ("a:b:0"), or `default`. Numbers index lists; a list of mappings is searched for a key."""
    keys = path.split(delimiter) if isinstance(path, str) else [path] if isinstance(path, int) else list(path)
    value = data
    for key in keys:
        if isinstance(value, (list, tuple)):
            value = _in_list(value, key, _MISSING)
        elif isinstance(value, (dict, Mapping)):
            value = _in_mapping(value, key, _MISSING)
        else:
            return default
        if value is _MISSING:
            return default
    return value


def _in_list(items: list[Value] | tuple[Value, ...], key: Value, missing: object) -> Value:
    try:
        wanted: Value = int(key)
    except ValueError:
        wanted = key
    for item in items:
        if isinstance(item, Mapping) and wanted in item:
            return item[wanted]
    if not isinstance(wanted, int):
        return missing
    try:
        return items[wanted]
    except IndexError:
        return missing


def _in_mapping(mapping: Mapping[Any, Value], key: Value, missing: object) -> Value:
    try:
        return mapping[key]
    except KeyError:
        pass
    if not isinstance(key, str):
        return missing
    try:
        # `ports:80` must find the key 80, which YAML read as a number.
        loaded = _read(key)
        return missing if loaded == key else mapping[loaded]
    except (yaml.YAMLError, KeyError, TypeError, ValueError):
        return missing


@lru_cache(maxsize=4096)
def _read(key: str) -> Value:
    """A part of a path as YAML reads it. A list or mapping is no key of anything."""
    return yaml.safe_load(key)


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
