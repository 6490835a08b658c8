"""Data marked to be merged with data of the same type instead of replaced by it.

`yamlex` marks (`!aggregate`), the pillar strategy `aggregate` joins; the rules are those of Salt's documentation of
its aggregation. Called by render.yamlex, traverse and pillar.
"""

from __future__ import annotations

from typing import Any

from highstate.types import Value


class Joinable:
    """The mark."""


class JoinableMap(dict[Any, Any], Joinable):
    """A marked mapping."""


class JoinableList(list[Any], Joinable):
    """A marked list, or a marked scalar in a list of its own."""


def joined(old: Value, new: Value) -> Value:
    """`new` joined with `old` where both are marked; otherwise `new`, in which marked parts of both are joined."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = isinstance(old, Joinable) and isinstance(new, Joinable)
        result = type(new)(old if both else new)
        for key, value in new.items():
            result[key] = joined(old[key], value) if key in old else value
        return result
    if isinstance(old, JoinableList) and isinstance(new, JoinableList):
        return JoinableList([*old, *(value for value in new if value not in old)])
    return new


def unmarked(value: Value) -> Value:
    """Plain data."""
    if isinstance(value, dict):
        return {key: unmarked(inner) for key, inner in value.items()}
    return [unmarked(inner) for inner in value] if isinstance(value, list) else value
