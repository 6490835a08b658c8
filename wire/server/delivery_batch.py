"""What the server's thread hands over at the end of a turn, and the counters of the wire.

Filled by `wire.server.reception`, `wire.server.sending` and `wire.server.connections`, in the server's thread; taken by
`wire.server.server`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from wire.server.types import Delivery, Gone, Identity, Incoming, Refusal, RefusalReason

_REPORTED_REFUSALS = 100
"""Refusals of one delivery; more than these are only counted."""


class DeliveryBatch:
    """Deliveries of this turn, and counters since the start."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._deliveries: list[Delivery] = []
        self._refusals = 0

    def add(self, deliveries: Iterable[Incoming | Gone]) -> None:
        """Hand these over too."""
        self._deliveries.extend(deliveries)

    def take(self) -> list[Delivery]:
        """All of this turn; the next one begins."""
        taken, self._deliveries, self._refusals = self._deliveries, [], 0
        return taken

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

    def count(self, direction: str, kind: str, size: int) -> None:
        """Count a message: `in` or `out`, its kind, and its bytes."""
        self.counts[f"messages_{direction}"] += 1
        self.counts[f"bytes_{direction}"] += size
        self.counts[f"{direction}.{kind}"] += 1
