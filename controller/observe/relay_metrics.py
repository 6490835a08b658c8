"""What Prometheus sees of relays, as the server counts it: read at each scrape, so that a relay that is gone has none.

Made by `controller.app`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from wire.server.types import RelayCounts


class RelayMetrics(Collector):
    """The series of relays.

    Args:
        registry: of the controller.
        counts: of each relay that is connected.
    """

    def __init__(self, registry: CollectorRegistry, counts: Callable[[], Iterable[RelayCounts]]) -> None:
        self._counts = counts
        registry.register(self)

    def describe(self) -> Iterable[Metric]:
        """Nothing: series come with relays."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The series of now."""
        minions = GaugeMetricFamily("saltern_relay_minions", "Minions that are behind a relay", labels=["relay"])
        frames = CounterMetricFamily("saltern_relay_frames", "Frames by a relay", labels=["relay", "direction"])
        waiting = GaugeMetricFamily(
            "saltern_relay_waiting_bytes", "Bytes that wait for minions behind a relay", labels=["relay"]
        )
        for each in self._counts():
            minions.add_metric((each.relay,), each.minions)
            frames.add_metric((each.relay, "in"), each.frames_in)
            frames.add_metric((each.relay, "out"), each.frames_out)
            waiting.add_metric((each.relay,), each.waiting_bytes)
        yield from (minions, frames, waiting)
