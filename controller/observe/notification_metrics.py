"""What Prometheus sees of notifications. Called by `controller.notifications`, from the loop."""

from __future__ import annotations

from typing import Literal, TypeAlias

from prometheus_client import CollectorRegistry, Counter, Gauge

DropReason: TypeAlias = Literal["no_room", "too_old", "rejected"]
_REASONS: tuple[DropReason, ...] = ("no_room", "too_old", "rejected")


class NotificationMetrics:
    """Series of receivers, which the configuration names."""

    def __init__(self, registry: CollectorRegistry, receivers: tuple[str, ...]) -> None:
        of = ["receiver"]
        self._sent = Counter("saltern_notifications_sent", "Messages that a receiver took", of, registry=registry)
        self._failures = Counter(
            "saltern_notification_failures", "Attempts that a receiver did not take", of, registry=registry
        )
        self._dropped = Counter(
            "saltern_notifications_dropped", "Messages that were given up", [*of, "reason"], registry=registry
        )
        self._spooled = Gauge("saltern_notifications_spooled", "Messages that wait", of, registry=registry)
        self._oldest = Gauge(
            "saltern_notification_oldest_timestamp_seconds",
            "When the oldest message that waits was made; 0: none waits",
            of,
            registry=registry,
        )
        self._failing = Gauge(
            "saltern_notification_failing", "1 while the last attempt was not taken", of, registry=registry
        )
        self._unknown = Gauge(
            "saltern_notification_unknown_receivers",
            "Receivers that saltern.yaml names and the configuration has not",
            registry=registry,
        )
        for name in receivers:  # made at once, so that a rate starts from zero
            self._sent.labels(name)
            self._failures.labels(name)
            self._failing.labels(name)
            self.spooled(name, 0, None)
            for reason in _REASONS:
                self._dropped.labels(name, reason)

    def sent(self, receiver: str) -> None:
        """A message was taken."""
        self._sent.labels(receiver).inc()
        self._failing.labels(receiver).set(0)

    def failed(self, receiver: str) -> None:
        """An attempt failed."""
        self._failures.labels(receiver).inc()
        self._failing.labels(receiver).set(1)

    def dropped(self, receiver: str, reason: DropReason, count: int = 1) -> None:
        """Messages are not sent any more."""
        self._dropped.labels(receiver, reason).inc(count)

    def spooled(self, receiver: str, waiting: int, oldest: float | None) -> None:
        """So many wait."""
        self._spooled.labels(receiver).set(waiting)
        self._oldest.labels(receiver).set(oldest or 0)

    def unknown(self, count: int) -> None:
        """So many receivers are named that there are not."""
        self._unknown.set(count)
