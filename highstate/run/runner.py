"""The loop over a lowstate.

Called by the minion (`run`). A chunk goes through four steps:

1. Its requisites are run first where they stand later, and judged (`requisites.judge`).
2. The executor plans it, and its mod_watch when it watches something that changed and has changed nothing by itself.
3. Under test=True the prediction is the result. Otherwise the intent is journalled, the plan acted on, and the
   result journalled (`attempt`).
4. After all chunks come the listeners, and what could not act on a change is remembered for the next run.

Chunks of `parallel: True` do their third step beside the others; who requires one waits for it.

A run that was cut off starts again from the top: results in the journal are taken as they are. A chunk with an intent
and no result may have acted in part or in whole, so whatever its new plan says, its watchers see it as changed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from highstate.run import aggregation
from highstate.run.attempt import Attempts
from highstate.run.graph import Graph, Named
from highstate.run.listeners import due_listeners, missing_listeners
from highstate.run.ports import Executor, Journal, MemoryJournal, RunHooks, StartedTask
from highstate.run.requisites import RequisiteStatus, changed, judge
from highstate.run.triggers import listener_key, pending_after, triggered
from highstate.types import Chunk, StateResult, Value

_NOT_RUN = {
    RequisiteStatus.PRE: "No changes detected",
    RequisiteStatus.ONFAIL: "State was not run because onfail req did not change",
    RequisiteStatus.ONCHANGES: "State was not run because none of the onchanges reqs changed",
    RequisiteStatus.SKIPPED: "State was not run because requisites were skipped by another state",
}
"""Salt's comments."""
_OVERRIDDEN_BY_PENDING = (
    RequisiteStatus.MET,
    RequisiteStatus.ONCHANGES,
    RequisiteStatus.SKIPPED,
    RequisiteStatus.UNWATCHED,
)
"""Verdicts over this run's changes alone, with which a change of an earlier run is still to be acted on."""

_UNWATCHED = " mod_watch was not run because requisites were skipped by another state"


def run(
    chunks: Mapping[str, Chunk],
    executor: Executor,
    *,
    test: bool,
    clock: Callable[[], float],
    journal: Journal | None = None,
    known: Mapping[str, StateResult] | None = None,
    failhard: bool = False,
    hooks: RunHooks | None = None,
) -> dict[str, StateResult]:
    """Run chunks (key → chunk, in order) and give the results by key, in the order in which they came.

    `known` are results taken for granted, by key, of chunks that are not run: a requisite on them is decided by them.
    Their chunks may stand in `chunks` too, which lets requisites find them by SLS and name; a requisite that finds
    nothing fails its chunk. `clock` gives seconds since the epoch.
    """
    return _Run(
        chunks=_with_known(chunks, known or {}),
        executor=executor,
        test=test,
        clock=clock,
        journal=journal or MemoryJournal(),
        known=dict(known or {}),
        failhard=failhard,
        hooks=hooks or RunHooks(),
    ).all()


def _with_known(chunks: Mapping[str, Chunk], known: Mapping[str, StateResult]) -> dict[str, Chunk]:
    """The chunks with those that are only known by their key."""
    kept = dict(chunks)
    for key in known:
        parts = key.split("#")[0].split("_|-")
        if key not in chunks and len(parts) == 4:
            kept[key] = Chunk(state=parts[0], id=parts[1], name=parts[2], fun=parts[3], sls="")
    return kept


@dataclass(slots=True, kw_only=True)
class _Run:
    chunks: Mapping[str, Chunk]
    executor: Executor
    test: bool
    clock: Callable[[], float]
    journal: Journal
    known: Mapping[str, StateResult]
    failhard: bool
    hooks: RunHooks
    graph: Graph = field(init=False)
    attempts: Attempts = field(init=False)
    results: dict[str, StateResult] = field(default_factory=dict)
    predictions: dict[str, StateResult] = field(default_factory=dict)
    foretold: set[str] = field(default_factory=set)
    """Under test=True: chunks of which the prediction is the result. Another plan would see what this one has made."""
    in_progress: set[str] = field(default_factory=set)
    finished: Mapping[str, StateResult] = field(init=False)
    pending: dict[str, StartedTask] = field(default_factory=dict)
    """Key → a chunk that runs beside the others."""
    numbers: dict[str, int] = field(default_factory=dict)
    """Key → place in the order in which chunks began."""
    starts: dict[str, float] = field(default_factory=dict)
    pending_triggers: frozenset[str] = frozenset()
    """Chunks that an earlier run triggered and that could not act."""
    remembered: set[str] = field(default_factory=set)
    """What was added to them while the run goes on."""
    triggered: Mapping[str, set[str]] | None = None
    stopped: bool = False
    """`failhard`, or who started the run has it stop: no chunk is begun any more."""
    halted: bool = False
    """Who started the run has it stop."""
    watches: int = 0
    """How often mod_watch followed a chunk: Salt counts it in `__run_num__`."""

    def __post_init__(self) -> None:
        self.graph = Graph(self.chunks)
        if self.hooks.triggers is not None:
            self.pending_triggers = frozenset(self.hooks.triggers.pending_triggers())
        self.finished = {} if self.test else self.journal.results()
        self.attempts = Attempts(
            executor=self.executor,
            journal=self.journal,
            test=self.test,
            interrupted={} if self.test else self.journal.intents(),
            sleep=self.hooks.sleep,
            draw=self.hooks.draw,
            stopping=self.hooks.stopping,
            remember=self.remember,
            arguments=self.arguments,
            on_watch=self.count_watch,
        )

    def count_watch(self) -> None:
        self.watches += 1

    def all(self) -> dict[str, StateResult]:
        later: list[str] = []
        for key in self.chunks:
            later = [one for one in later if not self.begun_now(one)]
            if not self.begun_now(key):
                later.append(key)
            if self.stopped:
                break
        while later and not self.stopped:
            if self.pending:
                self.wait(next(iter(self.pending)))
            else:
                self.ensure(later.pop(0))
            later = [one for one in later if not self.begun_now(one)]
        for key in list(self.pending):
            self.wait(key)
        if not self.halted:
            self.stopped = False  # listeners act after a failhard too (Salt)
            self.listeners()
        if not self.test and self.hooks.triggers is not None:
            pending_triggers, index = self.pending_triggers | self.remembered, self.graph.index
            more, less = pending_after(self.chunks, self.results, self.known, pending_triggers, index)
            # What was remembered for the case of a crash, and what nothing triggered after all, is forgotten.
            self.hooks.triggers.settle(more, less | (self.remembered - self.pending_triggers - more))
        return dict(sorted(self.results.items(), key=lambda item: item[1].run_num)) if self.numbers else self.results

    def begun_now(self, key: str) -> bool:
        """Ensure a chunk, but one of `parallel` only when it has to wait for no other that still goes on."""
        chunk = self.chunks[key]
        if self.is_parallel(chunk):
            first = [*self.graph.before(self.graph.named(key)[0]), *self.graph.followers.get(key, ())]
            going = [one for one in self.pending.values() if not one.ready()]
            if any(one in self.pending and not self.pending[one].ready() for one in first):
                return False
            if 0 < self.hooks.most_parallel <= len(going):
                return False
            if any(self.of(one) is None and self.is_parallel(self.chunks[one]) for one in first):
                return False
        self.ensure(key)
        return True

    def is_parallel(self, chunk: Chunk) -> bool:
        return not self.test and chunk.arguments.get("parallel") is True

    def of(self, key: str) -> StateResult | None:
        return self.results.get(key) or self.known.get(key)

    def ensure(self, key: str) -> None:
        """Run a chunk unless it is done, known, or about to be done further up."""
        if key in self.pending:
            self.wait(key)
        if not self.stopped and self.hooks.stopping():
            self.stopped = self.halted = True
        if self.of(key) is not None or key in self.in_progress or self.stopped:
            return
        self.in_progress.add(key)
        self.starts[key] = self.clock()
        if key in self.finished:
            self.keep(key, self.finished[key])
        else:
            result = self.one(key)
            if result is not None and not self.stopped and not self.is_cut_off(result):
                self.record(key, result, self.clock())
        self.in_progress.discard(key)

    def finish(self, key: str) -> None:
        """Ensure a chunk, and wait for its end."""
        self.ensure(key)
        if key in self.pending:
            self.wait(key)

    def wait(self, key: str) -> None:
        """For the end of a chunk that runs beside the others."""
        result, end = self.pending.pop(key).wait()
        if not self.is_cut_off(result):
            self.record(key, _beside(result), end)

    def is_cut_off(self, result: StateResult) -> bool:
        """Whether a chunk failed because the run is left off, which then stops here."""
        if result.result is not False or not self.hooks.left_off():
            return False
        self.stopped = self.halted = True
        return True

    def record(self, key: str, result: StateResult, end: float) -> None:
        start = self.starts.get(key, end)
        stamped = result.stamped(
            start_time=self.hooks.local_time(start).time().isoformat(),
            duration=max(0.0, round((end - start) * 1000, 3)),
            run_num=self.number(key),
        )
        if not self.test:
            self.journal.done(key, stamped)
        self.keep(key, stamped)

    def number(self, key: str) -> int:
        """Where a chunk stands among those that were run."""
        return self.numbers.get(key, self.next_number)

    @property
    def next_number(self) -> int:
        return len(self.results) + len(self.pending) + self.watches

    def keep(self, key: str, result: StateResult) -> None:
        number = self.number(key)
        self.results[key] = result if result.run_num == number else replace(result, run_num=number)
        chunk = self.chunks.get(key)
        if chunk is not None:
            self.report(key, chunk)
        if not self.test and result.result is False:
            hard = self.failhard if chunk is None else chunk.arguments.get("failhard", self.failhard)
            self.stopped = self.stopped or bool(hard)

    def report(self, key: str, chunk: Chunk) -> None:
        """Tell the hooks of a result; what they warn of stands in it."""
        warning = self.hooks.on_result(key, chunk, self.results[key], len(self.chunks) - len(self.known))
        if warning:
            result = self.results[key]
            self.results[key] = replace(result, warnings=(*result.warnings, warning))

    def remember(self, key: str) -> None:
        """A chunk is about to act: what it triggers is pending until the end of the run says otherwise."""
        if self.hooks.triggers is None or not self.hooks.remembers_at_once:
            return
        if self.triggered is None:
            self.triggered = triggered(self.chunks, self.graph.index)
        more = self.triggered.get(key, set()) - self.remembered
        if more:
            self.remembered |= more
            self.hooks.triggers.settle(frozenset(more), frozenset())

    def one(self, key: str) -> StateResult | None:
        """The steps of one chunk, from its requisites to its result; None when it goes on beside the others."""
        chunk = self.chunks[key]
        found, missing = self.graph.named(key)
        if missing:
            return _not_run(chunk, False, "The following requisites were not found:\n" + "\n".join(missing))
        followers = self.graph.followers.get(key, ())
        if found or followers:
            for first in [*self.graph.before(found), *followers]:
                self.finish(first)
            if self.stopped:
                return _not_run(chunk, False, "")
        prediction = self.predictions.get(key)
        if prediction is not None and prediction.result is False:
            return replace(prediction, changes={})
        status, failed = self.judged(found)
        failed += [other for other in followers if self.failed(other)]
        if status is RequisiteStatus.FAIL or failed:
            unchanged = prediction is not None and prediction.result is True and not prediction.changes
            return prediction if prediction is not None and unchanged else self.unmet(chunk, failed)
        status = self.with_pending(key, chunk, status)
        if status is not RequisiteStatus.MET and status in _NOT_RUN:
            return _not_run(chunk, True, _NOT_RUN[status])
        self.on_start(key)
        if not self.is_parallel(chunk):
            result = self.attempted(key, chunk, status)
            return _beside(result) if chunk.arguments.get("parallel") is True else result
        self.remember(key)
        self.numbers[key] = self.next_number
        self.pending[key] = self.hooks.background(lambda: (self.attempted(key, chunk, status), self.clock()))
        return None

    def on_start(self, key: str) -> None:
        self.hooks.on_start(key, len(self.results), len(self.chunks) - len(self.known))

    def attempted(self, key: str, chunk: Chunk, status: RequisiteStatus) -> StateResult:
        result = self.attempts.until_good(
            chunk, lambda: self.predictions[key] if key in self.foretold else self.once(key, chunk, status)
        )
        return replace(result, comment=result.comment + _UNWATCHED) if status is RequisiteStatus.UNWATCHED else result

    def once(self, key: str, chunk: Chunk, status: RequisiteStatus) -> StateResult:
        return self.attempts.one(key, chunk, status is RequisiteStatus.CHANGE)

    def unmet(self, chunk: Chunk, failed: list[str]) -> StateResult:
        return _not_run(chunk, False, "One or more requisite failed: " + ", ".join(self.graph.names(failed)))

    def with_pending(self, key: str, chunk: Chunk, status: RequisiteStatus) -> RequisiteStatus:
        """The verdict for a chunk that could not act on a change in an earlier run: it is to act now."""
        if key not in self.pending_triggers or status not in _OVERRIDDEN_BY_PENDING:
            return status
        return (
            RequisiteStatus.CHANGE
            if any(chunk.arguments.get(kind) for kind in ("watch", "watch_any"))
            else RequisiteStatus.MET
        )

    def judged(self, found: Named) -> tuple[RequisiteStatus, list[str]]:
        """The verdict, and the keys of the chunks that failed."""
        if not found:
            return RequisiteStatus.MET, []
        seen: dict[str, list[StateResult]] = {}
        endless: list[str] = []
        for kind, keys in found.items():
            results = [(one, self.predict(one) if kind == "prereq" else self.of(one)) for one in keys]
            seen[kind] = [result for _, result in results if result is not None]
            if kind.startswith(("require", "watch")):
                endless += [one for one, result in results if result is None]
        status = judge(seen)
        if status is not RequisiteStatus.FAIL:
            return (RequisiteStatus.FAIL, endless) if endless else (status, [])
        return status, [one for keys in found.values() for one in keys if self.failed(one)] + endless

    def failed(self, key: str) -> bool:
        result = self.of(key) or self.predictions.get(key)
        return result is not None and result.result is False

    def predict(self, key: str) -> StateResult:
        """What a chunk that has not run yet would come to; that of one that has run is its result."""
        if key in self.pending:
            self.wait(key)
        done = self.of(key) or self.predictions.get(key)
        if done is not None:
            return done
        chunk = self.chunks[key]
        self.predictions[key] = _not_run(chunk, True, "No changes detected")
        found, _ = self.graph.named(key)
        for first in self.graph.before(found):
            self.finish(first)
        status, failed = self.judged(found)
        status = self.with_pending(key, chunk, status)
        if status is RequisiteStatus.FAIL or status in (
            RequisiteStatus.ONFAIL,
            RequisiteStatus.ONCHANGES,
            RequisiteStatus.SKIPPED,
        ):
            # That is settled: what it waits for has run, and Salt has its result here already.
            comment = _NOT_RUN.get(status)
            result = self.unmet(chunk, failed) if comment is None else _not_run(chunk, True, comment)
            self.predictions[key] = result
            if key not in self.in_progress and not self.stopped:
                self.record(key, result, self.clock())
        elif status not in _NOT_RUN:
            prepared = self.attempts.prepare(key, chunk)
            self.predictions[key] = self.attempts.predict(key, prepared, status is RequisiteStatus.CHANGE)
            if self.test:
                self.foretold.add(key)
        interrupted = self.attempts.interrupted
        if key in interrupted and self.predictions[key].result is True:
            self.predictions[key] = replace(self.predictions[key], result=None, changes=interrupted[key])
        return self.predictions[key]

    def arguments(self, key: str, chunk: Chunk) -> Mapping[str, Value]:
        """Those of a chunk with what the others make of them.

        `__required__`: state and name of what it requires, which cleaning spares. `__reqs__`: what it watches that has
        changed.
        """
        if chunk.state == "pkg" and not self.test:
            return aggregation.joined(key, self.chunks, self.could_run, self.hooks.aggregate)
        added: dict[str, Value] = {}
        if chunk.arguments.get("clean"):
            required = self.graph.named(key)[0].get("require", [])
            added["__required__"] = [(self.chunks[one].state, self.chunks[one].name) for one in required]
        if chunk.state == "test" and "watch" in chunk.arguments:
            watched = [one for one in self.graph.named(key)[0].get("watch", []) if self.is_changed(one)]
            added["__reqs__"] = [f"{self.chunks[one].state}: {self.chunks[one].id}" for one in watched]
        return {**chunk.arguments, **added} if added else chunk.arguments

    def could_run(self, key: str) -> bool:
        """Whether a chunk is still to run and all that it names in its requisites has."""
        if self.of(key) is not None or key in self.pending or key in self.in_progress or key in self.graph.followers:
            return False
        found, missing = self.graph.named(key)
        if missing or any(self.of(one) is None for one in self.graph.before(found)):
            return False
        return self.judged(found)[0] in (RequisiteStatus.MET, RequisiteStatus.CHANGE)

    def listeners(self) -> None:
        """mod_watch of each chunk that listens to one that changed, after everything else; what names nothing fails."""
        given = (self.chunks, self.graph.index, self.is_changed)
        due = due_listeners(*given, known=self.known, pending_triggers=self.pending_triggers)
        for key in due:
            self.listener(self.chunks[key])
            if self.stopped:
                return
        for key, failure in missing_listeners(*given, self.known).items():
            self.record(key, failure, self.clock())

    def is_changed(self, key: str) -> bool:
        result = self.of(key)
        return result is not None and changed(result)

    def listener(self, chunk: Chunk) -> None:
        key = listener_key(chunk)
        listening = replace(chunk, id=f"listener_{chunk.id}")
        if key in self.finished:
            self.keep(key, self.finished[key])
            self.report(key, listening)
            return
        self.starts[key] = self.clock()
        self.on_start(key)
        result = self.attempts.until_good(chunk, lambda: self.attempts.listener(key, listening))
        self.record(key, _beside(result) if chunk.arguments.get("parallel") is True else result, self.clock())
        self.report(key, listening)


def _beside(result: StateResult) -> StateResult:
    """That of a parallel chunk; one that its conditions kept was not begun."""
    return result if result.skip_watch else replace(result, parallel=True)


def _not_run(chunk: Chunk, result: bool, comment: str) -> StateResult:
    return StateResult(name=chunk.name, result=result, comment=comment, skipped=True)
