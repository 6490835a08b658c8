"""How often a minion may change its mine: each change compiles anew whoever reads it.

Called by the message handlers, whose task asks for what is due. Of values that come too soon the newest is kept, and
counts once the minion may change its mine again. Knows no clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from options.limits import CountRefusal, uncounted
from wire.limits import MinionLimits
from wire.messages import MineEntry


@dataclass(slots=True, kw_only=True)
class _Bucket:
    tokens: float
    at: float
    waiting: Mapping[str, MineEntry] | None = None


class MinePace:
    """A token bucket for each minion that has sent a mine.

    Args:
        limits: how many changes at once, and how many a second.
        on_refusal: see `options.limits.CountRefusal`; the limit is `mine-changes`.
    """

    def __init__(self, limits: MinionLimits, on_refusal: CountRefusal = uncounted) -> None:
        self._burst = float(limits.mine_changes)
        self._rate = limits.mine_changes_a_second
        self._on_refusal = on_refusal
        self._buckets: dict[str, _Bucket] = {}

    def may_change(self, minion: str, entries: Mapping[str, MineEntry], now: float) -> bool:
        """Whether these values count now; if not, they are given by `due` later, in place of any before.

        Args:
            minion: its id.
            entries: all that it has.
            now: the time in seconds, by the same clock at each call.
        """
        bucket = self._buckets.setdefault(minion, _Bucket(tokens=self._burst, at=now))
        self._fill(bucket, now)
        if bucket.tokens < 1.0:
            bucket.waiting = entries
            self._on_refusal("mine-changes")
            return False
        bucket.waiting = None
        return True

    def changed(self, minion: str) -> None:
        """Values that counted were new."""
        if minion in self._buckets:
            self._buckets[minion].tokens -= 1.0

    def due(self, now: float) -> list[tuple[str, Mapping[str, MineEntry]]]:
        """The values that waited and may count now, by their minions."""
        found = []
        for minion, bucket in self._buckets.items():
            if bucket.waiting is not None:
                self._fill(bucket, now)
                if bucket.tokens >= 1.0:
                    found.append((minion, bucket.waiting))
                    bucket.waiting = None
        return found

    def forget(self, minion: str) -> None:
        """Drop what waits of a minion that has gone: it sends its mine again when it comes back."""
        if minion in self._buckets:
            self._buckets[minion].waiting = None

    def _fill(self, bucket: _Bucket, now: float) -> None:
        bucket.tokens = min(self._burst, bucket.tokens + max(0.0, now - bucket.at) * self._rate)
        bucket.at = now
