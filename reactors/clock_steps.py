"""Durations while somebody sets the clock of the machine: used by what waits until times since the epoch.

A wall clock jumps: a person, the first answer of a time server, a virtual machine that goes on. Times of day are due by
the wall clock as it is then; intervals and timeouts are counted by the clock that nobody sets, which also counts the
time in which the machine slept.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]

LEAST_STEP = 2.0
"""Seconds; what is less is a time server that corrects the clock."""


def boot_time() -> float:
    """Seconds since the machine started, those in which it slept included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def steady_beside(wall: Clock) -> Clock:
    """The clock for durations beside a clock of times: of the machine's the one that nobody sets, of others itself."""
    return boot_time if wall is time.time else wall


class ClockSteps:
    """By how much a wall clock was set.

    Args:
        wall: seconds since the epoch.
        steady: the clock that nobody sets; that of `steady_beside` otherwise.
    """

    def __init__(self, wall: Clock = time.time, steady: Clock | None = None) -> None:
        self._wall = wall
        self._steady = steady or steady_beside(wall)
        self._offset = self._wall() - self._steady()

    def taken(self) -> float:
        """Seconds by which it was set forward (or back: below 0) since this was asked last; 0 when it was not."""
        offset = self._wall() - self._steady()
        step = offset - self._offset
        self._offset = offset
        return step if abs(step) >= LEAST_STEP else 0.0
