"""JSON merge patches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def merged(old: Mapping[str, Any], patch: Mapping[str, Any]) -> dict[str, Any]:
    """A JSON merge patch (RFC 7386): mappings are merged, null takes a key out."""
    found = dict(old)
    for key, value in patch.items():
        below = found.get(key)
        if value is None:
            found.pop(key, None)
        elif isinstance(value, Mapping):
            found[key] = merged(below if isinstance(below, Mapping) else {}, value)
        else:
            found[key] = value
    return found
