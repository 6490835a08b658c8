"""Bounds of what a tree may hold: data that is written in a few lines and unfolds without end is refused.

Called with each rendered SLS and with the pillar, before anything walks through them. A YAML anchor can hold
itself, and ten lines of anchors can stand for more values than there is memory.
"""

from __future__ import annotations

from highstate.types import Value

DEEPEST = 100
"""Levels of lists and mappings."""
MOST = 1_000_000
"""Values, each counted as often as it is reached."""


def unbounded(value: Value) -> str:
    """Why `value` cannot be used; empty when it can."""
    level: list[Value] = [value]
    count = 0
    for _ in range(DEEPEST):
        below: list[Value] = []
        for outer in level:
            if isinstance(outer, dict):
                below.extend(outer.values())
            elif isinstance(outer, (list, tuple)):
                below.extend(outer)
        level = below
        count += len(level)
        if not level:
            return ""
        if count > MOST:
            return f"unfolds to more than {MOST} values (an anchor used again and again?)"
    return f"is nested more than {DEEPEST} levels deep (an anchor that holds itself?)"
