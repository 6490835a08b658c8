"""What the limits of all rooms have in common: their kinds, and who hears that one was exceeded.

Used by the module `limits` of each room, and by whatever enforces limits. States none itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, TypeAlias

from options.kinds import Wanted

CountRefusal: TypeAlias = Callable[[str], None]
"""Hears the name of a limit whenever something exceeds it: `connection-bytes`."""

LimitCount: TypeAlias = Annotated[int, Wanted("a whole number from 1", ge=1)]
LimitSeconds: TypeAlias = Annotated[float, Wanted("a number of seconds above 0", gt=0, lt=10**8)]


def uncounted(limit: str) -> None:
    """A `CountRefusal` for whoever counts nothing."""
