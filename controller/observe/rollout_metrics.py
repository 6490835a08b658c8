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

    def ended(self, phase: str) -> None:
        """A rollout ended in this phase."""
        self._ended.labels(phase).inc()

    def phase(self, phase: str) -> None:
        """The newest rollout is in this phase."""
        self._phase.clear()
        self._phase.labels(phase).set(1)
