"""In which order the minions of a preview are compiled, and which of them together. Pure; called by `preview`.

A process that compiles for previews may take little memory, and forgets what was not used for longest. So those that
are alike come one after the other: they read the same files of the trees, and run the same system. Each process has a
part of this order, from which its minions of a batch are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from typing import Any

from controller.store import MinionRecord

TOGETHER = 50
"""Minions that are compiled and compared at a time."""
_SYSTEM = ("osfinger", "os", "roles", "role")


def batches_of(
    minions: Sequence[MinionRecord], files_of: Callable[[str], tuple[int, ...]], processes: int
) -> list[list[MinionRecord]]:
    """The minions in batches of `TOGETHER` at most.

    Args:
        minions: whom the preview concerns.
        files_of: minion -> what stands for the files that its document was made of, and those of others, too.
        processes: that compile at the same time.
    """
    alike = sorted(minions, key=lambda minion: (files_of(minion.id), _system(minion), minion.id))
    size = -(-len(alike) // processes)
    each = TOGETHER // processes
    parts = (_cut(alike[at * size : (at + 1) * size], each) for at in range(processes))
    return [list(chain.from_iterable(some)) for some in zip_longest(*parts, fillvalue=[])]


def _cut(minions: list[MinionRecord], size: int) -> list[list[MinionRecord]]:
    return [minions[at : at + size] for at in range(0, len(minions), size)]


def _system(minion: MinionRecord) -> tuple[Any, ...]:
    return tuple(str(minion.grains.get(name)) for name in _SYSTEM)
