"""What the server's thread hands over at the end of a turn, and the counters of the wire.

Filled by `wire.server.reception`, `wire.server.sending` and `wire.server.connections`, in the server's thread; taken by
`wire.server.server`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from wire.messages import KeepAlive
from wire.server.types import Delivery, Gone, Identity, Incoming, Refusal, RefusalReason

_REPORTED_REFUSALS = 100
"""Refusals of one delivery; more than these are only counted."""

ALIVE_SECONDS = 0.25
"""For which signs of life wait for other deliveries: hundreds come in a second, and each would wake the loop."""

_MOST_ALIVE = 256


class DeliveryBatch:
    """Deliveries of this turn, and counters since the start."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._deliveries: list[Delivery] = []
        self._refusals = 0
        self._urgent = False
        """Something else than signs of life is among them."""
        self._due = 0.0
        """When the signs of life are handed over that wait; 0: none wait."""

    def add(self, deliveries: Iterable[Incoming | Gone]) -> None:
        """Hand these over too."""
        for each in deliveries:
            self._deliveries.append(each)
            self._urgent |= not (isinstance(each, Incoming) and isinstance(each.message, KeepAlive))

    def take(self) -> list[Delivery]:
        """All of this turn, and the next one begins; none while there are only signs of life that can wait."""
        if self._deliveries and not self._urgent and len(self._deliveries) < _MOST_ALIVE:
            now = time.monotonic()
            self._due = self._due or now + ALIVE_SECONDS
            if now < self._due:
                return []
        taken, self._deliveries, self._refusals = self._deliveries, [], 0
        self._urgent, self._due = False, 0.0
        return taken

    def wait_milliseconds(self) -> int:
        """How long the next turn may take to come; -1: as long as it likes."""
        return max(0, int((self._due - time.monotonic()) * 1000) + 1) if self._due else -1

    def refuse(
        self, reason: RefusalReason, *, key: str | None, identity: Identity | None = None, detail: str = ""
    ) -> None:
        """Count a refusal of this key, and tell it."""
        self.record(Refusal(reason=reason, key=key, id=identity.id if identity is not None else None, detail=detail))

    def record(self, refusal: Refusal) -> None:
        """Count a refusal, and tell it if there are few."""
        self.counts[f"refused.{refusal.reason}"] += 1
        self._refusals += 1
        if self._refusals <= _REPORTED_REFUSALS:
            self._deliveries.append(refusal)
            self._urgent = True

    def count(self, direction: str, kind: str, size: int) -> None:
        """Count a message: `in` or `out`, its kind, and its bytes."""
        self.counts[f"messages_{direction}"] += 1
        self.counts[f"bytes_{direction}"] += size
        self.counts[f"{direction}.{kind}"] += 1
