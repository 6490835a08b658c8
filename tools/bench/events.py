"""What an event costs: on the bus, in the store, among a thousand rules, and on its way (`event_paths`).

Here in one process, with a real store in a file. The targets are those of events a second, as microseconds an event.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from controller.observe.event_log import EventLog
from controller.store import Store
from options.document import Fault, Option
from reactors.bus import Bus, QueueBounds
from reactors.events import Event
from reactors.rules.native_rule import read_rules
from reactors.rules.rule_engine import RuleEngine
from tools.bench import event_paths
from tools.bench.figures import Figure
from wire.limits import MinionLimits

EVENTS = 50_000
DURABLE = 10_000
BATCH = 100
"""Durable events of one transaction: those of one message of a minion."""
RULES = 1000
TIMES = 5
_MICRO = 1e6


def measure() -> Iterator[Figure]:
    """Microseconds an event; then of its way."""
    yield _figure("publish to a subscriber that reads", _published, target=20.0)
    with tempfile.TemporaryDirectory(prefix="saltern-bench-") as folder:
        yield _figure("keep durably, 100 in a transaction", lambda: _kept(Path(folder)), target=200.0)
    yield _figure(f"match {RULES} rules", _matched, target=50.0)
    yield from event_paths.measure()


def _figure(metric: str, one: Callable[[], float], target: float) -> Figure:
    samples = [one() for _ in range(TIMES)]
    return Figure(metric=f"events: {metric}", unit="us", samples=samples, target=target)


def _published() -> float:
    bus = Bus(time.time, bounds=QueueBounds())
    with bus.subscribe("salt/*") as reader:
        read = 0
        began = time.perf_counter()
        for number in range(EVENTS):
            bus.publish("salt/beacon/web1/load/", {"id": f"web{number % 100}", "1m": 3.0})
            if not number % 1000:
                read += len(reader.drain())
        read += len(reader.drain())
        took = time.perf_counter() - began
    if read != EVENTS:
        raise RuntimeError(f"{read} events were read of {EVENTS}")
    return took / EVENTS * _MICRO


def _kept(folder: Path) -> float:
    unlimited = MinionLimits(events=10 * DURABLE)
    with Store(f"sqlite:///{folder / 'store.sqlite'}") as store:
        before = store.events.last_id()
        bus = Bus(time.time, last=before)
        log = EventLog(store, bus, time.time, unlimited)
        began = time.perf_counter()
        for _ in range(DURABLE // BATCH):
            log.keep_now([bus.make("salt/beacon/web1/load/", {"id": "web1", "1m": 3.0}) for _ in range(BATCH)])
        took = time.perf_counter() - began
        if store.events.last_id() != before + DURABLE:
            raise RuntimeError("not all events are in the store")
    return took / DURABLE * _MICRO


def _matched() -> float:
    written = [
        {
            "name": f"rule-{number}",
            "tag": f"salt/beacon/*/service/unit{number}",
            "when": "not data.running",
            "do": [{"local.service.restart": {"tgt": "{{ minion }}", "args": [f"unit{number}"]}}],
        }
        for number in range(RULES)
    ]
    faults: list[Fault] = []
    rules = read_rules(Option(written, "bench:1"), faults)
    if faults:
        raise RuntimeError(str(faults[0]))
    engine, fired = RuleEngine(), 0
    events = [
        Event(id=at, tag=f"salt/beacon/web1/service/unit{at % RULES}", time=1.0, data={"id": "web1", "running": False})
        for at in range(10 * RULES)
    ]
    began = time.perf_counter()
    for event in events:
        fired += sum(outcome.fires for outcome in engine.observe(rules, event, 1.0))
    took = time.perf_counter() - began
    if fired != len(events):
        raise RuntimeError(f"{fired} firings of {len(events)}")
    return took / len(events) * _MICRO
