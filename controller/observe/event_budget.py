"""How many events a minion may cause: a token bucket for each minion.

Called by `controller.messages.run_results` for what runs send, and by `event_log` for what is kept. Knows no clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from wire.limits import MinionLimits

_REMEMBERED = 20_000
"""Buckets; then those that are full again are forgotten."""


@dataclass(slots=True, kw_only=True)
class _Bucket:
    tokens: float
    at: float


class EventBudget:
    """The buckets.

    Args:
        limits: how many at once, and how many a second.
    """

    def __init__(self, limits: MinionLimits) -> None:
        self._burst = limits.events
        self._rate = limits.events_a_second
        self._buckets: dict[str, _Bucket] = {}

    def take(self, minion: str, now: float, cost: float = 1.0) -> bool:
        """Whether the minion may cause an event now.

        Args:
            minion: its id, or whatever else has a bucket of its own.
            now: the time in seconds, by the same clock at each call.
            cost: how many events it counts for.
        """
        if minion not in self._buckets and len(self._buckets) >= _REMEMBERED:
            self._buckets = {name: each for name, each in self._buckets.items() if self._fill(each, now) < self._burst}
        bucket = self._buckets.setdefault(minion, _Bucket(tokens=self._burst, at=now))
        self._fill(bucket, now)
        if bucket.tokens < cost:
            return False
        bucket.tokens -= cost
        return True

    def _fill(self, bucket: _Bucket, now: float) -> float:
        bucket.tokens = min(self._burst, bucket.tokens + max(0.0, now - bucket.at) * self._rate)
        bucket.at = now
        return bucket.tokens
