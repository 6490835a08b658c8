"""Random draws from a seed: the same each time, since a compile is deterministic.

The one module of this room that imports `random`. Called by the functions `random.*` and by filters; a draw without a
seed is asked of the live machine (`FunctionCall.ask`) or refused.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from typing import TypeAlias

from highstate.types import Value

Seed: TypeAlias = int | float | str | bytes


def below(seed: Seed, limit: int) -> int:
    """A number from 0 to `limit` - 1."""
    return _generator(seed).randrange(limit)


def between(seed: Seed, first: int, last: int) -> int:
    """A number from `first` to `last`."""
    return _generator(seed).randint(first, last)


def one_of(seed: Seed, values: Sequence[Value]) -> Value:
    """One of the values."""
    return _generator(seed).choice(values)


def sample(seed: str | bytes, values: Sequence[Value], size: int) -> list[Value]:
    """`size` of the values in a drawn order, as Salt draws them: by the SHA-512 of the seed."""
    digest = hashlib.sha512(seed.encode() if isinstance(seed, str) else seed).hexdigest()
    return _generator(digest).sample(values, size)


def _generator(seed: Seed) -> random.Random:
    if seed is None:  # what Python seeds with chance
        raise TypeError("a draw needs a seed")
    return random.Random(seed)  # noqa: S311  (a fixed choice, no secret)
