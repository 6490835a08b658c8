"""Values of nested data by a path such as `a:b:0`, as `pillar.get` and `grains.get` read it.

Called by states and execution modules. The language has its own in `highstate.functions`, which needs YAML; this one
is imported by an idle minion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

MISSING: Any = object()


def lookup(data: Any, path: Any, default: Any = MISSING, *, delimiter: str = ":") -> Any:
    """The value at `path`, or `default`. Numbers index lists; a list of mappings is searched for a key."""
    if isinstance(data, Mapping) and path in data:
        return data[path]
    value = data
    for step in str(path).split(delimiter):
        value = _step(value, step)
        if value is MISSING:
            return default
    return value


def _step(value: Any, step: str) -> Any:
    if isinstance(value, Mapping):
        if step in value:
            return value[step]
        return value.get(int(step), MISSING) if step.lstrip("-").isdigit() else MISSING
    if isinstance(value, list | tuple):
        if step.lstrip("-").isdigit():
            return value[int(step)] if -len(value) <= int(step) < len(value) else MISSING
        return next((item[step] for item in value if isinstance(item, Mapping) and step in item), MISSING)
    return MISSING
