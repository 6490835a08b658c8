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
        self._second = -1
        self._text = ""
        """That second as text: most ids of a job are of one."""

    def next(self) -> str:
        """`20261121120000123456`: UTC."""
        self._last = max(self._last + 1, int(self._clock() * 1_000_000))
        seconds, micros = divmod(self._last, 1_000_000)
        if seconds != self._second:
            self._second = seconds
            self._text = f"{datetime.datetime.fromtimestamp(seconds, datetime.UTC):%Y%m%d%H%M%S}"
        return f"{self._text}{micros:06d}"
