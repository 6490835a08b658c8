"""What Prometheus sees of the controller: one registry made by the composition root, no global.

The loop, the fetcher and the wire's shell call the methods as things happen; values of single minions are read from a
callback when somebody scrapes, so that a minion that is forgotten leaves no series behind.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from controller.observe.executor_metrics import ExecutorMetrics
from controller.schema.minions import HealthName, SyncName

CONTENT_TYPE = CONTENT_TYPE_LATEST

_COMPILE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_FETCH = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_APPLY = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 300, 900)
_STALL = (0.3, 0.5, 1, 2, 5, 10, 30)


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionSample:
    """One minion at the time of a scrape."""

    id: str
    sync: SyncName
    health: HealthName
    connected: bool = False
    drifted: int = 0
    """States that the last drift check found changed."""
    ignored: int = 0
    """States of which the last drift check found something changed that policy ignores."""
    unnamed: int = 0
    """Resources that a state made, that none names any more, and that are there still."""
    classes: Mapping[str, int] = field(default_factory=dict)
    """Class of what differs -> states."""
    missing_sources: int = 0
    """States of its document whose source is not in the tree."""
    unconfirmed: bool = False
    """Whether what it has applied waits for `saltern confirm`."""
    applied_at: float | None = None
    """When it last applied a revision, in seconds since the epoch."""
    revision_at: float | None = None
    """When the revision that it runs was committed, in seconds since the epoch."""


class Metrics:
    """All series of one controller.

    Args:
        clock: seconds since the epoch, for ages.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self._minions = _Minions(clock)
        self.registry.register(self._minions)
        self._reconciles = self._counter("reconciles", "Reconciliations of a minion")
        self._compile = self._histogram("compile_seconds", "Time to compile one minion", _COMPILE)
        self._compile_errors = self._counter("compile_errors", "Compiles of a minion that failed")
        self.executor = ExecutorMetrics(self.registry)
        self._spared = self._counter("compiles_spared", "Minions that a push does not concern, so none was compiled")
        self._asked = self._counter("fact_answers", "Fact queries of templates to minions", "result")
        self._checks = self._counter("compile_checks", "Memoised compiles compared with fresh ones", "result")
        self._audits = self._counter("compile_audits", "Compiles of minions that a push left out, compared", "result")
        self._fetch = self._histogram("git_fetch_seconds", "Time of a fetch", _FETCH, "remote")
        self._fetch_errors = self._counter("git_fetch_errors", "Fetches that failed", "remote")
        self._failing = self._gauge_by_remote("git_fetch_failing", "1 while the newest fetch has failed")
        self._returners = self._gauge_of_returners()
        self._kept_back = Gauge(
            "saltern_git_refs_refused",
            "Branches and tags that are refused and not live",
            ["remote"],
            registry=self.registry,
        )
        self._weight = Gauge(
            "saltern_git_disk_bytes",
            "Bytes of a remote's mirror on disk; of all submodules together as `submodules`",
            ["remote"],
            registry=self.registry,
        )
        self._left_out = self._gauge_by_remote(
            "git_files_left_out", "Entries of live trees that are left out, as they are no files"
        )
        self._messages = self._counter("bus_messages", "Messages on the wire", "direction", "type")
        self._refusals = self._counter("wire_refusals", "Messages and connections that were refused", "reason")
        self._runs = self._counter("runs", "Runs that ended", "kind", "outcome")
        self._reactions = self._counter("reactions", "Events that reactors answered", "outcome")
        self._policy_refused = Gauge(
            "saltern_policy_refused",
            "Whether the newest revision is not live because its saltern.yaml cannot be read",
            registry=self.registry,
        )
        self._missed = self._counter("missed_by_plan", "States left after a push which its plan did not have")
        self._alone = self._counter("remediations_alone", "Remediations that minions began by themselves", "outcome")
        self._run_seconds = self._histogram("run_seconds", "Time of a run on its minion", _APPLY, "kind")
        self._apply = self._histogram("push_apply_seconds", "From a push being seen to applied on a minion", _APPLY)
        self._hooks = self._counter("hooks", "Calls of the HTTP hook", "result")
        self._ensured = self._counter("ensure", "Conditions that beacons heal", "step")
        self._limits = self._counter("limit_refusals", "Inputs that a limit refused", "border", "limit")
        self._stranger_bytes = Gauge(
            "saltern_stranger_bytes",
            "Received bytes of connections without an accepted key that are not yet a complete message",
            registry=self.registry,
        )
        self._stranger_connections = Gauge(
            "saltern_stranger_connections", "Connections without an accepted key", registry=self.registry
        )
        self._stalls, self._stalls_computed = self._stall_histograms()

    def watch_minions(self, samples: Callable[[], Iterable[MinionSample]]) -> None:
        """Read minions from `samples` at each scrape."""
        self._minions.samples = samples

    def watch_strangers(self, connections: Callable[[], int], unread: Callable[[], int]) -> None:
        """Read at each scrape how many connections are not accepted, and how many unread bytes they hold."""
        self._stranger_connections.set_function(connections)
        self._stranger_bytes.set_function(unread)

    def reconciled(self, count: int = 1) -> None:
        """A minion was reconciled."""
        self._reconciles.inc(count)

    def compiled(self, seconds: float, *, ok: bool) -> None:
        """A minion was compiled."""
        self._compile.observe(seconds)
        if not ok:
            self._compile_errors.inc()

    def carried_over(self, count: int) -> None:
        """So many minions were not compiled: the push changes nothing that they use."""
        self._spared.inc(count)

    def policy_refused(self, *, refused: bool) -> None:
        """The policy of the newest revision cannot be read, or can be again."""
        self._policy_refused.set(refused)

    def missed_by_plan(self, count: int) -> None:
        """The check after a push found so many states that its plan had missed."""
        self._missed.inc(count)

    def memo_checked(self, *, equal: bool) -> None:
        """A compile was done without the memo too, and compared."""
        for result in ("equal", "different"):  # made at once, so that a rate starts from zero
            self._checks.labels(result).inc((result == "equal") == equal)

    def compile_audited(self, result: str) -> None:
        """A minion that a push left out was compiled: `equal`, `different` or `error`."""
        for each in ("equal", "different", "error"):  # made at once, so that a rate starts from zero
            self._audits.labels(each).inc(each == result)

    def asked(self, result: str) -> None:
        """A fact query ended: `answered` or `failed`."""
        self._asked.labels(result).inc()

    def fetched(self, remote: str, seconds: float, *, ok: bool) -> None:
        """A remote was fetched, or that failed."""
        self._fetch.labels(remote).observe(seconds)
        errors = self._fetch_errors.labels(remote)  # made at once, so that its rate starts from zero
        if not ok:
            errors.inc()

    def fetch_failing(self, remote: str, *, failing: bool) -> None:
        """The newest fetch of a remote has failed, or does not answer; or it was done."""
        self._failing.labels(remote).set(failing)

    def kept_back(self, remote: str, count: int) -> None:
        """So many branches and tags of a remote may not go live as they are there now."""
        self._kept_back.labels(remote).set(count)

    def mirror_size(self, remote: str, size: int) -> None:
        """The mirror of a remote has so many bytes."""
        self._weight.labels(remote).set(size)

    def left_out(self, remote: str, count: int) -> None:
        """So many entries of a remote's live tree are left out."""
        self._left_out.labels(remote).set(count)

    def sent(self, kind: str, count: int = 1) -> None:
        """A message went to a minion."""
        self._messages.labels("out", kind).inc(count)

    def received(self, kind: str, count: int = 1) -> None:
        """A message came from a minion."""
        self._messages.labels("in", kind).inc(count)

    def refused(self, reason: str, count: int = 1) -> None:
        """The wire refused something."""
        self._refusals.labels(reason).inc(count)

    def runs_ended(self, kind: str, ended: Sequence[tuple[str, float]]) -> None:
        """Runs of one kind have their results: outcomes, and seconds on the minion; count each run once."""
        for outcome, count in collections.Counter(outcome for outcome, _ in ended).items():
            self._runs.labels(kind, outcome).inc(count)
        times = self._run_seconds.labels(kind)
        for _, seconds in ended:
            times.observe(seconds)

    def remediated_alone(self, outcome: str) -> None:
        """A minion tells that it has put drift right by itself."""
        self._alone.labels(outcome).inc()

    def reaction_ended(self, outcome: str) -> None:
        """Reactors have answered an event: `ok`, `failed`, or `loop` when they refused to."""
        self._reactions.labels(outcome).inc()

    def push_applied(self, seconds: float) -> None:
        """A minion has applied a push, so long after the controller saw it."""
        self._apply.observe(seconds)

    def hooked(self, result: str) -> None:
        """Somebody called the hook: `accepted` or `refused`."""
        self._hooks.labels(result).inc()

    def returner_state(self, returner: str, waiting: int, failures: int, dropped: int) -> None:
        """What waits for a returner, how often in a row it failed, and how many entries were dropped so far."""
        for state, number in (("waiting", waiting), ("failures", failures), ("dropped", dropped)):
            self._returners.labels(returner, state).set(number)

    def ensured(self, step: str) -> None:
        """A minion heals the condition of a beacon: `healing`, `escalated` or `resolved`."""
        self._ensured.labels(step).inc()

    def limit_refused(self, border: str, limit: str, count: int = 1) -> None:
        """Something from outside was over a limit of a border (`controller.config.limits`); from any thread."""
        self._limits.labels(border, limit).inc(count)

    def limit_refusals(self, border: str) -> dict[str, int]:
        """What limits of a border refused since the start: limit -> count."""
        return {
            sample.labels["limit"]: int(sample.value)
            for family in self._limits.collect()
            for sample in family.samples
            if sample.name.endswith("_total") and sample.labels["border"] == border
        }

    def stalled(self, seconds: float, computed: float) -> None:
        """A turn of the event loop took so long, and so much processor time of the loop's thread."""
        self._stalls.observe(seconds)
        self._stalls_computed.observe(computed)

    def exposition(self) -> bytes:
        """The text that Prometheus reads (`CONTENT_TYPE`)."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"saltern_{name}", text, labels, registry=self.registry)

    def _gauge_by_remote(self, name: str, text: str) -> Gauge:
        return Gauge(f"saltern_{name}", text, ["remote"], registry=self.registry)

    def _gauge_of_returners(self) -> Gauge:
        text = "Entries that wait for a returner, failures in a row, and entries that were dropped"
        return Gauge("saltern_returner_entries", text, ["returner", "state"], registry=self.registry)

    def _stall_histograms(self) -> tuple[Histogram, Histogram]:
        length = self._histogram("loop_stall_seconds", "Turns of the event loop that took more than 0.25 s", _STALL)
        text = "Processor time of the loop's thread in the turns of loop_stall_seconds"
        return length, self._histogram("loop_stall_computed_seconds", text, _STALL)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        return Histogram(f"saltern_{name}", text, labels, buckets=buckets, registry=self.registry)


class _Minions(Collector):
    """The series of single minions, and how many are in each state."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.samples: Callable[[], Iterable[MinionSample]] = tuple
        self._clock = clock

    def describe(self) -> Iterable[Metric]:
        return ()

    def collect(self) -> Iterator[Metric]:
        counts = _gauge("minions", "Minions by sync and health", "sync", "health")
        sync = _gauge("minion_sync", "1 for the sync status that a minion has", "minion", "sync")
        health = _gauge("minion_health", "1 for the health that a minion has", "minion", "health")
        connected = _gauge("minion_connected", "1 when the minion is connected", "minion")
        drifted = _gauge("minion_drifted_states", "States that the last drift check found changed", "minion")
        classes = _gauge("minion_drift", "States that differ, by what is behind it", "minion", "class")
        ignored = _gauge("minion_ignored_states", "States that differ in what policy ignores", "minion")
        unnamed = _gauge("minion_unnamed_resources", "What states made there and none names any more", "minion")
        missing = _gauge("minion_missing_sources", "States whose source is not in the tree, which fail", "minion")
        unconfirmed = _gauge("unconfirmed_minions", "Minions that go back unless somebody confirms what they applied")
        applied = _gauge("minion_applied_timestamp_seconds", "When it last applied a revision", "minion")
        age = _gauge("applied_revision_age_seconds", "Age of the commit that a minion has applied", "minion")
        together: dict[tuple[str, str], int] = {}
        waiting, now = 0, self._clock()
        for sample in self.samples():
            state: tuple[str, str] = (sample.sync, sample.health)
            together[state] = together.get(state, 0) + 1
            sync.add_metric((sample.id, sample.sync), 1)
            health.add_metric((sample.id, sample.health), 1)
            connected.add_metric((sample.id,), sample.connected)
            drifted.add_metric((sample.id,), sample.drifted)
            for each, count in sample.classes.items():
                classes.add_metric((sample.id, each), count)
            ignored.add_metric((sample.id,), sample.ignored)
            unnamed.add_metric((sample.id,), sample.unnamed)
            missing.add_metric((sample.id,), sample.missing_sources)
            waiting += sample.unconfirmed
            if sample.applied_at is not None:
                applied.add_metric((sample.id,), sample.applied_at)
            if sample.revision_at is not None:
                age.add_metric((sample.id,), max(0.0, now - sample.revision_at))
        for labels, count in sorted(together.items()):
            counts.add_metric(labels, count)
        unconfirmed.add_metric((), waiting)
        yield from (counts, sync, health, connected, drifted, classes, ignored, unnamed, missing, applied, age)
        yield unconfirmed


def _gauge(name: str, text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"saltern_{name}", text, labels=labels)
