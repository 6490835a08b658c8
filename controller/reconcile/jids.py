"""Run ids, in the form of Salt's job ids: the time in microseconds, so that they sort and say when."""

from __future__ import annotations

import datetime
from collections.abc import Callable


class Jids:
    """Rising ids; two in the same microsecond differ.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._last = 0

    def next(self) -> str:
        """`20261121120000123456`: UTC."""
        self._last = max(self._last + 1, int(self._clock() * 1_000_000))
        seconds, micros = divmod(self._last, 1_000_000)
        return f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y%m%d%H%M%S}{micros:06d}"
