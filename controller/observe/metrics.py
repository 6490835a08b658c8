"""What Prometheus sees of the controller: one registry made by the composition root, no global.

The loop, the fetcher and the wire's shell call the methods as things happen; values of single minions are read from a
callback when somebody scrapes, so that a minion that is forgotten leaves no series behind.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from controller.observe.executor_metrics import ExecutorMetrics
from controller.observe.minion_metrics import MinionMetrics, MinionSample
from controller.observe.process_metrics import ProcessMetrics
from controller.observe.tracing.push_traces import PushTraces

CONTENT_TYPE = CONTENT_TYPE_LATEST
OPENMETRICS_TYPE = openmetrics.CONTENT_TYPE_LATEST

_LONGEST_EXEMPLAR = 128
"""Characters of names and values of its labels, as OpenMetrics has it."""

_COMPILE = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_FETCH = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
_APPLY = (0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30, 60, 300, 900)
_STALL = (0.3, 0.5, 1, 2, 5, 10, 30)


class Metrics:
    """All series of one controller.

    Args:
        clock: seconds since the epoch, for ages.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.registry = CollectorRegistry()
        self.minions = MinionMetrics(clock)
        self.registry.register(self.minions)
        self.process = ProcessMetrics(self.registry)
        self.traces = PushTraces()
        """Told of the steps of a push by those who count them."""
        self._reconciles = self._counter("reconciles", "Reconciliations of a minion")
        self.executor = ExecutorMetrics(self.registry)
        self._make_compile_series()
        self._spans = self._counter_of_spans()
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
        self._begin(self._reactions, "ok", "failed", "loop")
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
        self._begin(self._hooks, "accepted", "refused", "duplicate", "ping")
        self._ensured = self._counter("ensure", "Conditions that beacons heal", "step")
        self._beacons = self._counter("beacon_events", "Events of beacons that minions sent", "beacon")
        self._limits = self._counter("limit_refusals", "Inputs that a limit refused", "border", "limit")
        for limit in ("waiting-events", "waiting-bytes", "durable-events"):
            self._limits.labels("reactor", limit)
        self._stranger_bytes = Gauge(
            "saltern_stranger_bytes",
            "Received bytes of connections without an accepted key that are not yet a complete message",
            registry=self.registry,
        )
        self._stranger_connections = Gauge(
            "saltern_stranger_connections", "Connections without an accepted key", registry=self.registry
        )
        self._stalls, self._stalls_computed = self._stall_histograms()

    def _make_compile_series(self) -> None:
        self._compile = self._histogram("compile_seconds", "Time to compile one minion", _COMPILE)
        self._compile_errors = self._counter("compile_errors", "Compiles of a minion that failed")
        self._spared = self._counter("compiles_spared", "Minions that a push does not concern, so none was compiled")
        self._asked = self._counter("fact_answers", "Fact queries of templates to minions", "result")
        self._checks = self._counter("compile_checks", "Memoised compiles compared with fresh ones", "result")
        self._begin(self._checks, "equal", "different")
        self._memo = self._counter("memo_lookups", "Parts of compiles that were looked for in a memo", "result")
        self._begin(self._memo, "hit", "miss")
        self._audits = self._counter("compile_audits", "Compiles of minions that a push left out, compared", "result")
        self._begin(self._audits, "equal", "different", "error")

    def watch_minions(self, samples: Callable[[], Iterable[MinionSample]]) -> None:
        """Read minions from `samples` at each scrape."""
        self.minions.samples = samples

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
        self._checks.labels("equal" if equal else "different").inc()

    def memo_looked(self, hits: int, misses: int) -> None:
        """A compile found so many parts in the memo of its worker, and so many not."""
        self._memo.labels("hit").inc(hits)
        self._memo.labels("miss").inc(misses)

    def compile_audited(self, result: str) -> None:
        """A minion that a push left out was compiled: `equal`, `different` or `error`."""
        self._audits.labels(result).inc()

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

    def runs_ended(self, kind: str, ended: Sequence[tuple[str, float, str]]) -> None:
        """Runs of one kind have their results: outcome, seconds on the minion, id; count each run once."""
        newest = {outcome: run_id for outcome, _, run_id in ended}
        for outcome, count in collections.Counter(outcome for outcome, _, _ in ended).items():
            self._runs.labels(kind, outcome).inc(count, _exemplar(newest[outcome]))
        times = self._run_seconds.labels(kind)
        for _, seconds, run_id in ended:
            times.observe(seconds, _exemplar(run_id))

    def remediated_alone(self, outcome: str) -> None:
        """A minion tells that it has put drift right by itself."""
        self._alone.labels(outcome).inc()

    def reaction_ended(self, outcome: str) -> None:
        """Reactors have answered an event: `ok`, `failed`, or `loop` when they refused to."""
        self._reactions.labels(outcome).inc()

    def push_applied(self, seconds: float, run_id: str, trace_id: str = "") -> None:
        """A minion has applied a push by this run, so long after the controller saw it; `trace_id`: of its trace."""
        self._apply.observe(seconds, _exemplar(run_id, trace_id))

    def spans_sent(self, ok: bool, count: int) -> None:
        """A collector has taken so many spans of traces, or has not; from any thread."""
        self._spans.labels("sent" if ok else "failed").inc(count)

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

    def beacon_said(self, beacon: str) -> None:
        """An event of a beacon has come; the name is one of those that there are, or `(others)`."""
        self._beacons.labels(beacon).inc()

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

    def with_exemplars(self) -> bytes:
        """The same as OpenMetrics (`OPENMETRICS_TYPE`), with the run behind a count or a time."""
        text: bytes = openmetrics.generate_latest(self.registry)  # type: ignore[no-untyped-call]  # it has no types
        return text

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"saltern_{name}", text, labels, registry=self.registry)

    @staticmethod
    def _begin(counter: Counter, *values: str) -> None:
        """Make series at once: what first appears as 1 rises, for Prometheus, by nothing."""
        for value in values:
            counter.labels(value)

    def _counter_of_spans(self) -> Counter:
        spans = self._counter("trace_spans", "Spans of traces that were sent to a collector", "result")
        self._begin(spans, "sent", "failed")
        return spans

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


def _exemplar(run_id: str, trace_id: str = "") -> dict[str, str] | None:
    """The run, and its trace, as an exemplar; None where its id is too long, or there is none."""
    labels = {"run_id": run_id, "trace_id": trace_id} if trace_id else {"run_id": run_id}
    size = sum(len(name) + len(value) for name, value in labels.items())
    return labels if run_id and size <= _LONGEST_EXEMPLAR else None
