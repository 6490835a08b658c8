"""How much a test tries: a part in the ordinary suite, everything with SALTERN_SOAK set (`make soak`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

import pytest

FULL = bool(os.environ.get("SALTERN_SOAK"))
soak = pytest.mark.skipif(not FULL, reason="`make soak` has it; the suite has others of its kind")

Step = TypeVar("Step")


def examples(most: int) -> int:
    """Of `most` drawn examples, how many this run draws."""
    return most if FULL else most // 4


def steps(every: Sequence[Step], few: int) -> Sequence[Step]:
    """All of them, or `few` that are spread from the first to the last; of 1 it is the first."""
    if FULL or len(every) <= few:
        return every
    if few == 1:
        return every[:1]
    return [every[number * (len(every) - 1) // (few - 1)] for number in range(few)]
