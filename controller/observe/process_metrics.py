"""What Prometheus sees of the controller's process: its version, resources, queues, store, keys and certificates.

Made with the other metrics; `controller.composition.metrics` says what is looked at.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Histogram, ProcessCollector
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

STORE_OPERATIONS = ("read", "write", "commit")
_STORE = (0.0001, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


def _nothing() -> Mapping[str, float]:
    return {}


@dataclass(slots=True, kw_only=True)
class ProcessSources:
    """What is read at each scrape; each callback is cheap, and none waits for a database."""

    version: str = ""
    """Of Saltern; empty: not known yet, and not told."""
    queues: Mapping[str, Callable[[], int]] = field(default_factory=dict)
    """Queue -> how much waits there."""
    message_lag: Callable[[], float] | None = None
    """Seconds that the message waits which is handled now."""
    keys: Callable[[], Mapping[str, float]] = _nothing
    """State -> keys."""
    expiries: Callable[[], Mapping[str, float]] = _nothing
    """Certificate -> when it expires, in seconds since the epoch."""
    key_times: Callable[[], Mapping[str, float]] = _nothing
    """The controller's own keys -> when they were made, in seconds since the epoch."""


class ProcessMetrics(Collector):
    """The series.

    Args:
        registry: of the controller.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self.sources = ProcessSources()
        ProcessCollector(registry=registry)
        times = Histogram(
            "saltern_store_seconds", "Time of an operation of the store", ["operation"], buckets=_STORE,
            registry=registry,
        )  # fmt: skip
        self._store = {each: times.labels(each) for each in STORE_OPERATIONS}
        registry.register(self)

    def stored(self, operation: str, seconds: float) -> None:
        """A read, a write or a commit took so long; from any thread."""
        self._store[operation].observe(seconds)

    def describe(self) -> Iterable[Metric]:
        """Nothing, so that nothing is read when it is registered."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """The series of now."""
        now = self.sources
        if now.version:
            build = GaugeMetricFamily("saltern_build_info", "1; what runs here", labels=["version", "python_version"])
            build.add_metric((now.version, platform.python_version()), 1)
            yield build
        yield _family("queue_length", "What waits in a queue", "queue", {k: size() for k, size in now.queues.items()})
        if now.message_lag is not None:
            yield GaugeMetricFamily(
                "saltern_message_lag_seconds",
                "Seconds for which messages of minions wait until they are handled",
                value=now.message_lag(),
            )
        yield _family("keys", "Keys by state", "state", now.keys())
        yield _family(
            "certificate_expiry_timestamp_seconds", "When a certificate expires", "certificate", now.expiries()
        )
        yield _family("key_created_timestamp_seconds", "When a key of the controller was made", "key", now.key_times())


def _family(name: str, text: str, label: str, values: Mapping[str, float]) -> Metric:
    found = GaugeMetricFamily(f"saltern_{name}", text, labels=[label])
    for each, value in sorted(values.items()):
        found.add_metric((each,), value)
    return found
