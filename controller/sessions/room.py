"""Which minions wait with their whole documents until the controller has room for more.

Ten thousand minions that all need their first document at once would otherwise have them in memory together, and send
their results before the first ones are handled. Documents therefore go at a pace: it grows by a quarter a second, and
is halved each second in which messages of minions wait (additive-increase rules such as TCP's have the same shape, RFC
5681). Used by `Reconciler`, which looks again at who is let in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

LOOK_SECONDS = 0.05
"""Until it is looked again whether there is room."""
BURST = 256
"""Documents that go at once, after a pause."""
FIRST, SLOWEST, FASTEST = 50.0, 1.0, 500.0
"""Documents a second: after a pause, and at least and at most. It never is nothing: minions that keep
the controller busy keep nobody out for good."""
GROWTH, FALL = 1.25, 0.5
"""Of the pace, each second."""
PAUSE = 30.0
"""Seconds without a document, after which the pace is `FIRST` again: what it was tells nothing any more."""


class Room:
    """The minions that wait, in the order in which they came.

    Args:
        has_room: whether a document may be sent now: not where too much is unread.
        is_behind: whether messages of minions wait to be handled.
        clock: seconds, by a clock that nobody sets.
    """

    def __init__(
        self,
        has_room: Callable[[], bool] = lambda: True,
        is_behind: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._has_room = has_room
        self._is_behind = is_behind
        self._clock = clock
        self._pace = FIRST
        self._credit = float(BURST)
        """Documents that may go now."""
        self._counted_at = self._adapted_at = self._sent_at = clock()
        self._waiting: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, minion: str) -> bool:
        """Whether a whole document may be sent to this minion now; else it waits."""
        if self._free():
            self._credit -= 1
            self._sent_at = self._clock()
            return True
        self._waiting.setdefault(minion)
        return False

    def leave(self, minion: str) -> None:
        """This minion is looked at: nothing of it waits unless it is said anew."""
        self._waiting.pop(minion, None)

    def next(self, most: int) -> list[str]:
        """Whom to look at now that there is room; they wait no more."""
        free = self._free() if self._waiting else 0
        found = list(islice(self._waiting, min(most, free)))
        for minion in found:
            self.leave(minion)
        return found

    def first(self) -> str | None:
        """Who has waited for longest; None: nobody waits."""
        return next(iter(self._waiting), None)

    def _free(self) -> int:
        """How many documents may go now."""
        now, behind = self._clock(), self._is_behind()
        if now >= self._sent_at + PAUSE:
            self._pace = FIRST
        if now >= self._adapted_at + 1.0:
            self._adapted_at = now
            self._pace = min(FASTEST, max(SLOWEST, self._pace * (FALL if behind else GROWTH)))
        self._credit = min(1.0 if behind else BURST, self._credit + (now - self._counted_at) * self._pace)
        self._counted_at = now
        return int(self._credit) if self._has_room() else 0
