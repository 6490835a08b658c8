"""How much a test tries: a part in the ordinary suite, everything with SALTERN_SOAK set (`make soak`)."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TypeVar

FULL = bool(os.environ.get("SALTERN_SOAK"))

Step = TypeVar("Step")


def examples(most: int) -> int:
    """Of `most` drawn examples, how many this run draws."""
    return most if FULL else most // 4


def steps(every: Sequence[Step], few: int) -> Sequence[Step]:
    """All of them, or `few` (2 or more) that are spread from the first to the last."""
    if FULL or len(every) <= few:
        return every
    return [every[number * (len(every) - 1) // (few - 1)] for number in range(few)]
