"""When Python collects cycles in a process that compiles. Called by the processes that compile.

A compile makes some hundred thousand objects, nearly all of which are kept or die without being in a cycle; looking
through them after each few hundred, as Python does, costs a sixth of its time. Each render leaves some objects in a
cycle all the same; looking for those of many compiles takes a tenth of a second, which nobody should have to wait for.
"""

from __future__ import annotations

import gc

NEW_OBJECTS = 300_000
"""Looked through when there are so many more than before: some 30 MiB of them.

More than the compile of a minion with 5000 states holds at a time (some 200,000): those are all in use until it ends.
"""


def collect_seldom() -> None:
    """Leave what is there now out of every search, and search rarely from here on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(NEW_OBJECTS, 50, 100)


def collect_new() -> None:
    """Look through what is new. Called when nobody waits: between two requests."""
    gc.collect(0)
