"""How much whoever shows keys, and each minion, may have the gateway do. Knows no clock."""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import dataclass

_REMEMBERED = 10_000


@dataclass(slots=True, kw_only=True)
class _Level:
    tokens: float
    at: float


class TokenBuckets:
    """A bucket for each key, full at first.

    Args:
        rate: tokens a second.
        burst: of a full bucket.
        longest: seconds that `wait` says at most, however much was spent.
    """

    def __init__(self, *, rate: float, burst: float, longest: float = math.inf) -> None:
        self._rate = rate
        self._burst = burst
        self._least = -longest * rate
        self._levels: OrderedDict[Hashable, _Level] = OrderedDict()

    def take(self, key: Hashable, now: float) -> bool:
        """Whether there is a token; it is taken then."""
        level = self._level(key, now)
        if level.tokens < 1:
            return False
        level.tokens -= 1
        return True

    def spend(self, key: Hashable, tokens: float, now: float) -> None:
        """Take so many, even if there are fewer."""
        level = self._level(key, now)
        level.tokens = max(level.tokens - tokens, self._least)

    def wait(self, key: Hashable, now: float) -> float:
        """Seconds until the bucket is not below zero."""
        return max(0.0, -self._level(key, now).tokens / self._rate)

    def _level(self, key: Hashable, now: float) -> _Level:
        level = self._levels.get(key)
        if level is None:
            # What was used longest ago has been full for long, but in a flood of keys, where all begin full anyway.
            while len(self._levels) >= _REMEMBERED:
                self._levels.popitem(last=False)
            level = self._levels[key] = _Level(tokens=self._burst, at=now)
        self._levels.move_to_end(key)
        level.tokens = min(self._burst, level.tokens + (now - level.at) * self._rate)
        level.at = now
        return level
