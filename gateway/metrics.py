"""The gateway's metrics, in a file that node_exporter's textfile collector reads (the option `metrics_textfile`).

As minions have them (`minion.agent.textfile`): no port is opened. The process's own figures have names of the gateway,
since those of `process_*` on that page are node_exporter's.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias

import psutil
from prometheus_client import CollectorRegistry, Counter, Histogram
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from gateway.controllers import ControllerPlaces
from minion.machine.durable_files import write_readable

log = logging.getLogger(__name__)

EVERY = 15.0
"""Seconds between two writes: the age of the file tells that the gateway lives."""
_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0)

UnansweredReason: TypeAlias = Literal["malformed", "not-authentic", "no-answer"]
"""Why a request was not answered: cannot be read or may not be asked; its session key is none of now; the controller
gave no answer."""


class MinionSeen(NamedTuple):
    """A minion, at the time of a write."""

    key_state: str
    online: bool
    """Whether the controller hears of it."""
    listens: bool
    """Whether it has answered a job since it came."""


class GatewayMetrics(Collector):
    """Counts, and writes the file.

    Args:
        path: of the file; None: none is written.
        minions: gives all minions that have shown a key.
        places: of the controllers.
    """

    def __init__(
        self, path: Path | None, minions: Callable[[], Iterable[MinionSeen]], places: ControllerPlaces
    ) -> None:
        self._path = path
        self._minions = minions
        self._places = places
        self._failed = ""
        self._started = time.time()
        self._registry = registry = CollectorRegistry()
        registry.register(self)
        self._requests = Histogram(
            "saltern_gateway_request_seconds",
            "Time of a request of a minion that is accepted",
            ["command"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._refused = Counter(
            "saltern_gateway_refused_requests", "Requests that got no answer", ["reason"], registry=registry
        )
        self._limits = Counter(
            "saltern_gateway_limit_refusals", "What limits refused, by their names", ["limit"], registry=registry
        )
        self._keys = Counter(
            "saltern_gateway_authentications", "Keys that were shown, and what was said", ["result"], registry=registry
        )
        self._jobs = Counter("saltern_gateway_publications", "Jobs that were published", registry=registry)

    def answered(self, command: str, seconds: float) -> None:
        """A request of an accepted minion has its answer."""
        self._requests.labels(command).observe(seconds)

    def refused(self, reason: UnansweredReason) -> None:
        """A request got no answer."""
        self._refused.labels(reason).inc()

    def limited(self, limit: str) -> None:
        """A limit has refused something. From any thread."""
        self._limits.labels(limit).inc()

    def key_shown(self, result: str) -> None:
        """A minion was told what is thought of its key."""
        self._keys.labels(result).inc()

    def published(self) -> None:
        """A job was said to the minions."""
        self._jobs.inc()

    def describe(self) -> Iterable[Metric]:
        """Nothing: `collect` reads it when it is asked."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """What is read at the time of a write."""
        seen = list(self._minions())
        minions = GaugeMetricFamily("saltern_gateway_minions", "Minions by their keys", labels=["state"])
        for state in ("accepted", "pending", "rejected"):
            minions.add_metric((state,), sum((each.key_state or "pending") == state for each in seen))
        accepted = [each for each in seen if each.key_state == "accepted"]
        yield minions
        controllers = GaugeMetricFamily(
            "saltern_gateway_controller_used", "1 for the controller that answers this gateway", labels=["controller"]
        )
        for name in self._places.names:
            controllers.add_metric((name,), name == self._places.reached)
        yield controllers
        for name, text, value in (
            ("start_timestamp_seconds", "When it was started", self._started),
            ("resident_memory_bytes", "Memory of its process", psutil.Process().memory_info().rss),
            ("connected_minions", "Minions that the controller hears of", sum(each.online for each in accepted)),
            ("listening_minions", "Minions that answer jobs", sum(each.listens for each in accepted)),
        ):
            yield GaugeMetricFamily(f"saltern_gateway_{name}", text, value)
        yield CounterMetricFamily("saltern_gateway_cpu_seconds", "Its processor time", time.process_time())

    def exposition(self) -> bytes:
        """All series of now, in Prometheus' text format."""
        return generate_latest(self._registry)

    async def write_now_and_then(self) -> None:
        """Write the file every 15 seconds until cancelled. A folder that takes none is logged once."""
        while self._path is not None:
            try:
                await asyncio.to_thread(write_readable, self._path, self.exposition())
                self._failed = ""
            except OSError as error:
                why = error.strerror or str(error)
                if why != self._failed:
                    log.error("event=metrics_not_written path=%s error=%s", self._path, why)
                self._failed = why
            await asyncio.sleep(EVERY)
        await asyncio.Event().wait()
