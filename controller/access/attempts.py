"""How often something was tried by somebody in the last minute. Called by `logins` and `audit`."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from cachetools import LRUCache

_MINUTE = 60.0
_MOST_PEOPLE = 10_000
"""Of more, those who tried longest ago are forgotten, and nobody else."""
_LONGEST = 200
"""Characters of a name: strangers choose some."""


class CountedTries:
    """Tries of each name.

    Args:
        per_minute: so often each may.
        clock: seconds.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float]) -> None:
        self._per_minute = per_minute
        self._clock = clock
        self._last: LRUCache[str, deque[float]] = LRUCache(maxsize=_MOST_PEOPLE)

    def is_one_too_many(self, who: str) -> bool:
        """Count a try; True, and it does not count, when there were too many."""
        now, who = self._clock(), who[:_LONGEST]
        last = self._last.get(who)
        if last is None:
            last = self._last[who] = deque()
        while last and last[0] <= now - _MINUTE:
            last.popleft()
        if len(last) >= self._per_minute:
            return True
        last.append(now)
        return False
