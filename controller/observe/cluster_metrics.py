"""What Prometheus sees of controllers that share a database. Made by `controller.app`, for one that waits, too."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSample:
    """This controller at the time of a scrape."""

    leads: bool = True
    """One that has its store alone always does."""
    epoch: int = 0
    """Of its lease; 0: it has none."""
    waiting: int = 0
    """Controllers that wait, as the leader knows."""
    connections: int = 0
    """That it passes on to the leader."""
    bytes_in: int = 0
    """That it passed on to the leader so far."""
    bytes_out: int = 0


class ClusterMetrics(Collector):
    """The series.

    Args:
        registry: of the controller.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.sample: Callable[[], ClusterSample] = ClusterSample
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The series of now."""
        now = self.sample()
        gauges = {
            "leader": ("1 for the controller that leads, 0 for one that waits", now.leads),
            "leadership_epoch": ("Number of the lease with which this controller leads", now.epoch),
            "waiting_controllers": ("Controllers that wait to take over, as the one that leads sees them", now.waiting),
            "passed_on_connections": ("Connections of minions that this controller passes on", now.connections),
        }
        for name, (text, value) in gauges.items():
            yield GaugeMetricFamily(f"saltern_{name}", text, value=value)
        passed = CounterMetricFamily("saltern_passed_on_bytes", "Bytes of minions passed on", labels=["direction"])
        passed.add_metric(("in",), now.bytes_in)
        passed.add_metric(("out",), now.bytes_out)
        yield passed
