"""Series of the configuration: whether the newest reload was taken. Names as those of Prometheus itself."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge


class ConfigMetrics:
    """Whether the files are in force.

    Args:
        registry: of the controller.
        clock: seconds since the epoch.
    """

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._successful = Gauge(
            "saltern_config_last_reload_successful", "0 while the newest reload was refused", registry=registry
        )
        self._at = Gauge(
            "saltern_config_last_reload_success_timestamp_seconds",
            "When the configuration was read that holds",
            registry=registry,
        )
        self._restart = Gauge(
            "saltern_config_restart_pending", "Options whose change needs a restart", registry=registry
        )
        self.taken(0)

    def taken(self, restart: int) -> None:
        """A configuration holds; so many of its options need a restart."""
        self._successful.set(1)
        self._at.set(self._clock())
        self._restart.set(restart)

    def refused(self) -> None:
        """A configuration was wrong."""
        self._successful.set(0)
