"""Which minions of a class are asked for a test run. Pure; called by `preview`."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Sequence

from controller.schema.reports import ChangeClass


def sampled(classes: Sequence[ChangeClass], connected: Collection[str], number: int) -> tuple[str, ...]:
    """So many minions of each class, the same ones each time: connected ones first, spread over the names.

    Args:
        classes: with their minions.
        connected: who can be asked at all; without one of a class, others stand for it, so that this is told.
        number: of each class.
    """
    return tuple(
        minion
        for each in classes
        for minion in sorted(each.minions, key=lambda name: (name not in connected, _spread(name)))[:number]
    )


def _spread(name: str) -> bytes:
    """Names in an order that has nothing to do with how they are counted up: neighbours are often alike."""
    return hashlib.blake2b(name.encode(), digest_size=8).digest()
