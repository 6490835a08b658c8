"""Limits of the data in a tree: a few lines that expand without end are refused.

Called with each rendered SLS and with the pillar, before anything walks through them, and with what a compile process
sends. A YAML anchor can hold
itself, and ten lines of anchors can stand for more values than there is memory.
"""

from __future__ import annotations

from highstate.limits import DataLimits
from highstate.types import Value

_LIMITS = DataLimits()


def unbounded(value: Value) -> str:
    """Why `value` cannot be used; empty when it can."""
    level: list[Value] = [value]
    count = 0
    for _ in range(_LIMITS.depth):
        below: list[Value] = []
        for outer in level:
            if isinstance(outer, dict):
                below.extend(outer.values())
            elif isinstance(outer, (list, tuple)):
                below.extend(outer)
        count += len(below)
        if not below:
            return ""
        if count > _LIMITS.values:
            return f"unfolds to more than {_LIMITS.values} values (an anchor used again and again?)"
        level = [one for one in below if type(one) is not str]  # most are
    return f"is nested more than {_LIMITS.depth} levels deep (an anchor that holds itself?)"


def is_shallow(value: Value, most: int) -> bool:
    """Whether mappings and lists are in each other at most so deep. For data that holds nothing twice."""
    level: list[Value] = [value]
    for _ in range(most + 1):
        inner: list[Value] = []
        for outer in level:
            if isinstance(outer, (dict, list)):
                values = outer.values() if isinstance(outer, dict) else outer
                inner.extend([each for each in values if isinstance(each, (dict, list))])
        if not inner:
            return True
        level = inner
    return False
