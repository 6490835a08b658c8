"""The minion's own metrics, in a file that node_exporter's textfile collector reads (the option `metrics_textfile`).

Part of the agent, which tells of each result and calls `tick`. The text is written by hand, as Prometheus' text format
0.0.4 has it (https://prometheus.io/docs/instrumenting/exposition_formats): the library for it would stay in the memory
of an agent that is idle. What the last runs were is kept on disk, so that a restart of the agent does not hide it.
"""

from __future__ import annotations

import logging
import resource
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from minion.agent.drift_watch import WATCHED
from minion.machine.durable_files import write_readable, write_whole
from wire.messages import RunResult

log = logging.getLogger(__name__)

EVERY = 30.0
"""Seconds after which the file is written anew though nothing happened: its age tells that the agent lives."""
SOONEST = 1.0
"""Seconds between two writes."""
MOST_DRIFTED = 10_000
"""Keys of states that are remembered as drifted."""

_GOOD = ("ok", "changed")


class EndedOfKind(msgspec.Struct, frozen=True):
    """The newest run of a kind."""

    ended: float
    """Seconds since the epoch."""
    seconds: float
    states: dict[str, int]
    """`succeeded`, `changed`, `failed` and `pending` -> states."""
    good: float = 0.0
    """When the newest one ended that came to a good end; 0: none did."""


class _Kept(msgspec.Struct):
    runs: dict[str, EndedOfKind] = {}
    drifted: list[str] = []


class AgentNow(NamedTuple):
    """The agent at the time of a write."""

    configured: int
    """Controllers of its configuration."""
    connected: int
    """Of these: that it is connected to."""
    results: int
    """Results that no controller has acknowledged."""
    dropped: int
    """Results that were dropped since its start."""
    events: int
    """Bytes of events of beacons and of `saltern call` that no controller has acknowledged."""
    events_told: int
    """Events that were acknowledged since its start."""
    problems: Mapping[str, int]
    """Part of the agent -> what is wrong with its configuration."""


class Textfile:
    """Counts what ends, and writes the file."""

    def __init__(self, path: Path | None, cachedir: Path, minion_id: str) -> None:
        """Take over what an earlier agent kept.

        Args:
            path: of the file; None: nothing is counted or written.
            cachedir: of the minion.
            minion_id: its id.
        """
        self._path = path
        self._kept_path = cachedir / "metrics"
        self._minion_id = minion_id
        self._runs = Counter[tuple[str, str]]()
        self._kept = _Kept()
        self._drifted: set[str] = set()
        self._started = time.time()
        self._written = self._due = float("-inf")
        self._failed = ""
        if path is not None:
            self._kept = _read(self._kept_path)
            self._drifted.update(self._kept.drifted)

    @property
    def due_at(self) -> float:
        """When `tick` has something to do, in monotonic seconds."""
        return float("inf") if self._path is None else self._due

    def changed(self) -> None:
        """Something is another way than it was written."""
        self._due = min(self._due, self._written + SOONEST)

    def finished(self, result: RunResult) -> None:
        """A run or call has a result."""
        if self._path is None:
            return
        self._runs[result.kind, result.outcome] += 1
        self.changed()
        if result.kind in ("call", "preview"):
            return
        now, before = time.time(), self._kept.runs.get(result.kind)
        good = now if result.outcome in _GOOD else (before.good if before else 0.0)
        if not result.run_id.startswith(WATCHED):  # those look at a few states only
            self._kept.runs[result.kind] = EndedOfKind(now, result.seconds, _count(result), good)
            self._drifted.clear()
        if result.kind == "drift":
            for key, state in result.states.items():
                (self._drifted.discard if state.get("result") is True else self._drifted.add)(key)
        self._keep()

    def tick(self, now: float, agent: AgentNow) -> None:
        """Write the file, when it is due. `now`: monotonic seconds."""
        if self._path is None or now < self._due:
            return
        self._written, self._due = now, now + EVERY
        try:
            write_readable(self._path, "".join(self._lines(agent)).encode())
            self._failed = ""
        except OSError as error:
            why = error.strerror or str(error)  # without the name that was drawn
            if why != self._failed:
                log.error("event=metrics_not_written path=%s error=%s", self._path, why)
            self._failed = why

    def _keep(self) -> None:
        self._kept.drifted = sorted(self._drifted)[:MOST_DRIFTED]
        try:
            write_whole(self._kept_path, msgspec.msgpack.encode(self._kept))
        except OSError as error:
            log.error("event=metrics_not_kept error=%s", error)

    def _lines(self, agent: AgentNow) -> Iterator[str]:
        python = ".".join(map(str, sys.version_info[:3]))
        info = {"minion": self._minion_id, "python_version": python}
        yield from _family("info", "gauge", "1; which minion this is", [(info, 1)])
        yield from _family("start_timestamp_seconds", "gauge", "When it was started", [({}, self._started)])
        yield from _family("cpu_seconds_total", "counter", "Its processor time", [({}, time.process_time())])
        yield from _family("resident_memory_bytes", "gauge", "Memory of its process", _resident())
        states = [({"state": "configured"}, agent.configured), ({"state": "connected"}, agent.connected)]
        yield from _family("controllers", "gauge", "Controllers of its configuration, and those of them that it is "
                           "connected to", states)  # fmt: skip
        ended = [({"kind": kind, "outcome": outcome}, n) for (kind, outcome), n in sorted(self._runs.items())]
        yield from _family("runs_total", "counter", "Runs and calls that ended since it was started", ended)
        yield from self._last_runs()
        yield from _family("drifted_states", "gauge", "States that the last drift check found changed, and those of "
                           "later looks at what was touched", [({}, len(self._drifted))])  # fmt: skip
        yield from _family("results_waiting", "gauge", "Results that no controller has yet", [({}, agent.results)])
        yield from _family("results_dropped_total", "counter", "Results that were dropped", [({}, agent.dropped)])
        yield from _family("events_waiting_bytes", "gauge", "Events of beacons and calls that no controller has yet",
                           [({}, agent.events)])  # fmt: skip
        yield from _family("events_total", "counter", "Events of beacons and calls that a controller has taken",
                           [({}, agent.events_told)])  # fmt: skip
        wrong = [({"part": part}, count) for part, count in agent.problems.items()]
        yield from _family("problems", "gauge", "What is wrong with what the minion is to do by itself", wrong)

    def _last_runs(self) -> Iterator[str]:
        runs = sorted(self._kept.runs.items())
        yield from _family("last_run_timestamp_seconds", "gauge", "When the last run ended",
                           [({"kind": kind}, run.ended) for kind, run in runs])  # fmt: skip
        yield from _family("last_good_run_timestamp_seconds", "gauge", "When the last run ended that was good",
                           [({"kind": kind}, run.good) for kind, run in runs])  # fmt: skip
        yield from _family("last_run_seconds", "gauge", "How long the last run took",
                           [({"kind": kind}, run.seconds) for kind, run in runs])  # fmt: skip
        states = [({"kind": kind, "result": each}, n) for kind, run in runs for each, n in run.states.items()]
        yield from _family("last_run_states", "gauge", "States of the last run by what came of them", states)


def _count(result: RunResult) -> dict[str, int]:
    count = dict.fromkeys(("succeeded", "changed", "failed", "pending"), 0)
    for state in result.states.values():
        match state.get("result"):
            case True:
                count["changed" if state.get("changes") else "succeeded"] += 1
            case None:
                count["pending"] += 1
            case _:
                count["failed"] += 1
    return count


def _family(name: str, kind: str, text: str, samples: Sequence[tuple[Mapping[str, str], float]]) -> Iterator[str]:
    if samples:
        yield f"# HELP saltern_agent_{name} {text}\n# TYPE saltern_agent_{name} {kind}\n"
    for labels, value in samples:
        inside = ",".join(f'{label}="{_escaped(each)}"' for label, each in labels.items())
        yield f"saltern_agent_{name}{{{inside}}} {value}\n" if inside else f"saltern_agent_{name} {value}\n"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _resident() -> list[tuple[dict[str, str], float]]:
    """Nothing where the system does not tell it (FreeBSD)."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except OSError:
        return []
    return [({}, pages * resource.getpagesize())]


def _read(path: Path) -> _Kept:
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=_Kept)
    except FileNotFoundError:
        return _Kept()
    except (OSError, msgspec.MsgspecError) as error:
        log.warning("event=metrics_unreadable path=%s dropped=true error=%s", path, error)
        return _Kept()
