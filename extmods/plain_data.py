"""Values that modules return, as plain data: what YAML and msgpack know."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from highstate.ports import SourceFailed
from highstate.types import Value

_MOST_DEPTH = 100


def plain(value: Any, depth: int = _MOST_DEPTH) -> Value:
    """A value as YAML and msgpack know it; SourceFailed for what is none."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if depth == 0:
        raise SourceFailed(f"it gave data nested more than {_MOST_DEPTH} deep")
    if isinstance(value, Mapping):
        return {plain(key, depth - 1): plain(one, depth - 1) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one, depth - 1) for one in value]
    if isinstance(value, set | frozenset):
        return sorted((plain(one, depth - 1) for one in value), key=repr)
    for kind in (str, int, float):
        if isinstance(value, kind):  # a subclass, of an enumeration for example
            return kind(value)
    raise SourceFailed(f"it gave a {type(value).__name__}, which is no plain data")
