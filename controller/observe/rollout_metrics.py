"""What Prometheus sees of rollouts. Made by the composition root."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge


class RolloutMetrics:
    """The series of rollouts.

    Args:
        registry: of the controller.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._ended = Counter("saltern_rollouts", "Rollouts that ended", ["phase"], registry=registry)
        self._phase = Gauge(
            "saltern_rollout_phase", "1 for the phase of the newest rollout", ["phase"], registry=registry
        )
        self._unconfirmed = Counter(
            "saltern_unconfirmed_taken_back", "Minions taken back since nobody confirmed in time", registry=registry
        )

    def ended(self, phase: str) -> None:
        """A rollout ended in this phase."""
        self._ended.labels(phase).inc()

    def phase(self, phase: str) -> None:
        """The newest rollout is in this phase."""
        self._phase.clear()
        self._phase.labels(phase).set(1)

    def taken_back(self, count: int) -> None:
        """So many minions go back: nobody confirmed in time what `apply: confirm` applied there."""
        self._unconfirmed.inc(count)
