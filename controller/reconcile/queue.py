"""The work queue of a level-triggered loop: keys to look at, now or at a time. A key waits at most once.

Used by `Reconciler`, `BuildReconciler` and the loops over pull requests. It knows nothing of what a key means.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import math
from collections.abc import Callable, Iterable

from reactors.clock_steps import ClockSteps

LONGEST_WAIT = 30.0
"""Seconds after which a queue with timers looks whether the clock was set."""


class WorkQueue:
    """Keys that are due. When the clock is set all that have a time are: what they wait for may be due now, or no more.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._due: set[str] = set()
        self._timers: list[tuple[float, str]] = []
        self._timer_of: dict[str, float] = {}
        """The one timer of each key that counts; others in the heap are stale."""
        self._awake = asyncio.Event()
        self._steps = ClockSteps(clock)

    def add(self, keys: Iterable[str]) -> None:
        """Look at these keys soon; with no key the loop looks around once."""
        self._due.update(keys)
        self._awake.set()

    def add_at(self, key: str, time: float) -> None:
        """Look at this key at a time (seconds since the epoch), in place of the time given before."""
        if self._timer_of.get(key) != time:
            self._timer_of[key] = time
            heapq.heappush(self._timers, (time, key))

    def add_by(self, key: str, time: float) -> None:
        """Look at this key at this time at the latest."""
        if self._timer_of.get(key, math.inf) > time:
            self.add_at(key, time)

    def __len__(self) -> int:
        """How many keys are due."""
        return len(self._due)

    @property
    def has_due(self) -> bool:
        """Whether something is left that is due."""
        return bool(self._due)

    async def take(self, most: int | None = None) -> set[str]:
        """Wait until something is due, and take all that is, or so many."""
        wait = max(0.0, min(LONGEST_WAIT, self._timers[0][0] - self._clock())) if self._timers else None
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):  # `wait_for` of Python 3.11 loses a cancellation that comes with an `add`
                await self._awake.wait()
        self._awake.clear()
        now = self._clock()
        if self._steps.taken():
            self._due.update(self._timer_of)
            self._timers, self._timer_of = [], {}
        while self._timers and self._timers[0][0] <= now:
            time, key = heapq.heappop(self._timers)
            if self._timer_of.get(key) == time:
                del self._timer_of[key]
                self._due.add(key)
        if most is None or len(self._due) <= most:
            due, self._due = self._due, set()
            return due
        self._awake.set()
        return {self._due.pop() for _ in range(most)}
