"""Which minions wait with their whole documents until the controller has room for more.

Ten thousand minions that all need their first document at once would otherwise have them in memory together, and send
their results before the first ones are handled. Used by `Reconciler`, which looks again at who is let in.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import islice

LOOK_SECONDS = 0.05
"""Until it is looked again whether there is room."""
BUSY_SECONDS = 1.0
"""Between two minions that are let in while messages wait: minions that keep the controller busy keep nobody out for
good. Each first document makes a message of some 100 KB, so that they come far slower than the controller handles these:
with 20 a second, 9,900 minions had it fall behind for good, and their messages took 6 GiB."""


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
        self._next_at = float("-inf")
        """When the next minion is let in while messages wait."""
        self._waiting: dict[str, None] = {}

    def __len__(self) -> int:
        return len(self._waiting)

    def enter(self, minion: str) -> bool:
        """Whether a whole document may be sent to this minion now; else it waits."""
        if self._is_free():
            self._next_at = self._clock() + BUSY_SECONDS
            return True
        self._waiting.setdefault(minion)
        return False

    def leave(self, minion: str) -> None:
        """This minion is looked at: nothing of it waits unless it is said anew."""
        self._waiting.pop(minion, None)

    def next(self, most: int) -> list[str]:
        """Whom to look at now that there is room; they wait no more."""
        if not self._waiting or not self._is_free():
            return []
        found = list(islice(self._waiting, 1 if self._is_behind() else most))
        for minion in found:
            self.leave(minion)
        return found

    def first(self) -> str | None:
        """Who has waited for longest; None: nobody waits."""
        return next(iter(self._waiting), None)

    def _is_free(self) -> bool:
        return self._has_room() and (not self._is_behind() or self._clock() >= self._next_at)
