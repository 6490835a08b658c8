"""The loop over a lowstate.

Called by the minion (`run`). A chunk goes through four steps:

1. Its requisites are run first where they stand later, and judged (`requisites.judge`).
2. The executor plans it; when it watches something that changed and has nothing else to do, its mod_watch is planned.
3. Under test=True the prediction is the result. Otherwise the intent is journalled, the plan acted on, and the
   result journalled.
4. After all chunks come the listeners, and what could not act on a change is remembered for the next run.

Chunks of `parallel: True` do their third step beside the others; who requires one waits for it.

A run that was cut off starts again from the top: results in the journal are taken as they are. A chunk with an intent
and no result may have acted in part or in whole, so whatever its new plan says, its watchers see it as changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from highstate.run import aggregation
from highstate.run.ports import Executor, Journal, MemoryJournal, Prepared, Surroundings, Task
from highstate.run.requisites import KINDS, Index, Status, changed, has_any, items, judge, may_be_empty, said
from highstate.run.retry import Retry, retry_of
from highstate.run.triggers import listener_key, owed_after
from highstate.types import Chunk, StateResult, Value

_NOT_RUN = {
    Status.PRE: "No changes detected",
    Status.ONFAIL: "State was not run because onfail req did not change",
    Status.ONCHANGES: "State was not run because none of the onchanges reqs changed",
}
"""Salt's comments."""


def run(
    chunks: Mapping[str, Chunk],
    executor: Executor,
    *,
    test: bool,
    clock: Callable[[], float],
    journal: Journal | None = None,
    known: Mapping[str, StateResult] | None = None,
    failhard: bool = False,
    sleep: Callable[[float], None] = time.sleep,
    around: Surroundings | None = None,
) -> dict[str, StateResult]:
    """Run chunks (key → chunk, in order) and give the results by key, in the order in which they came.

    `known` are results taken for granted, by key, of chunks that are not run: a requisite on them is decided by them.
    Their chunks may stand in `chunks` too, which lets requisites find them by SLS and name; a requisite that finds
    nothing fails its chunk. `clock` gives seconds since the epoch; `sleep` waits between the attempts of `retry`.
    """
    return _Run(
        chunks=_with_known(chunks, known or {}),
        executor=executor,
        test=test,
        clock=clock,
        journal=journal or MemoryJournal(),
        known=dict(known or {}),
        failhard=failhard,
        sleep=sleep,
        around=around or Surroundings(),
    ).all()


def _with_known(chunks: Mapping[str, Chunk], known: Mapping[str, StateResult]) -> dict[str, Chunk]:
    """The chunks with those that are only known by their key, without the test nodes of prereq.

    A lowstate names a chunk that others are a prereq of twice: once to be predicted, once to be run. Prediction is
    done on demand here, so the first is left out.
    """
    last = {chunk.tag: key for key, chunk in chunks.items()}
    kept = {
        key: chunk for key, chunk in chunks.items() if last[chunk.tag] == key or not chunk.arguments.get("__prereq__")
    }
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
    sleep: Callable[[float], None]
    around: Surroundings
    index: Index = field(init=False)
    results: dict[str, StateResult] = field(default_factory=dict)
    predictions: dict[str, StateResult] = field(default_factory=dict)
    followers: dict[str, list[str]] = field(default_factory=dict)
    """Key → keys of the chunks that are a prereq of it, so must run before it."""
    in_progress: set[str] = field(default_factory=set)
    finished: Mapping[str, StateResult] = field(init=False)
    begun: Mapping[str, Mapping[str, Value]] = field(init=False)
    pending: dict[str, Task] = field(default_factory=dict)
    """Key → what waits for a chunk that runs beside the others."""
    starts: dict[str, float] = field(default_factory=dict)
    owed: frozenset[str] = frozenset()
    """Chunks that an earlier run triggered and that could not act."""
    stopped: bool = False

    def __post_init__(self) -> None:
        self.index = Index(self.chunks)
        if self.around.triggers is not None:
            self.owed = frozenset(self.around.triggers.owed())
        self.finished = {} if self.test else self.journal.results()
        self.begun = {} if self.test else self.journal.intents()
        for key, chunk in self.chunks.items():
            for kind in ("prereq", "prereq_any"):
                for item in items(chunk, kind):
                    for first in self.index.find(item, key):
                        self.followers.setdefault(first, []).append(key)

    def all(self) -> dict[str, StateResult]:
        for key in self.chunks:
            self.ensure(key)
            if self.stopped:
                break
        for key in list(self.pending):
            self.wait(key)
        if not self.stopped:
            self.listeners()
        if not self.test and self.around.triggers is not None:
            self.around.triggers.settle(owed_after(self.chunks, self.results, self.known, self.owed, self.index))
        return self.results

    def of(self, key: str) -> StateResult | None:
        return self.results.get(key) or self.known.get(key)

    def ensure(self, key: str) -> None:
        """Run a chunk unless it is done, known, or about to be done further up."""
        if key in self.pending:
            self.wait(key)
        if not self.stopped and self.around.stopping():
            self.stopped = True
        if self.of(key) is not None or key in self.in_progress or self.stopped:
            return
        self.in_progress.add(key)
        self.starts[key] = self.clock()
        if key in self.finished:
            self.keep(key, self.finished[key])
        else:
            result = self.one(key)
            if result is not None and not self.stopped:
                self.record(key, result, self.clock())
        self.in_progress.discard(key)

    def wait(self, key: str) -> None:
        """For the end of a chunk that runs beside the others."""
        result, end = self.pending.pop(key)()
        self.record(key, result, end)

    def record(self, key: str, result: StateResult, end: float) -> None:
        start = self.starts.get(key, end)
        stamped = replace(
            result,
            start_time=datetime.fromtimestamp(start).time().isoformat(),
            duration=round((end - start) * 1000, 3),
            run_num=len(self.results),
        )
        if not self.test:
            self.journal.done(key, stamped)
        self.keep(key, stamped)

    def keep(self, key: str, result: StateResult) -> None:
        number = len(self.results)
        self.results[key] = result if result.run_num == number else replace(result, run_num=number)
        chunk = self.chunks.get(key)
        if chunk is not None:
            self.around.told(key, chunk, self.results[key])
        hard = self.failhard or (chunk is not None and chunk.arguments.get("failhard") is True)
        self.stopped = self.stopped or (hard and result.result is False)

    def one(self, key: str) -> StateResult | None:
        """The steps of one chunk, from its requisites to its result; None when it goes on beside the others."""
        chunk = self.chunks[key]
        found, missing = self.requisites(key)
        if missing:
            return _not_run(chunk, False, "The following requisites were not found:\n" + "\n".join(missing))
        for first in [*(one for keys in found.values() for one in keys), *self.followers.get(key, ())]:
            self.ensure(first)
        if self.stopped:
            return _not_run(chunk, False, "")
        prediction = self.predictions.get(key)
        if prediction is not None and prediction.result is False:
            return replace(prediction, changes={})
        status, failed = self.judged(key, found)
        failed += [other for other in self.followers.get(key, ()) if self.failed(other)]
        if status is Status.FAIL or failed:
            return _not_run(chunk, False, "One or more requisite failed: " + ", ".join(self.names(failed)))
        status = self.with_owed(key, chunk, status)
        if status in _NOT_RUN:
            return _not_run(chunk, True, _NOT_RUN[status])
        watched = status is Status.CHANGE
        if self.test or chunk.arguments.get("parallel") is not True:
            return self.repeated(key, chunk, watched)
        self.pending[key] = self.around.background(lambda: (self.repeated(key, chunk, watched), self.clock()))
        return None

    def with_owed(self, key: str, chunk: Chunk, status: Status) -> Status:
        """The verdict for a chunk that could not act on a change in an earlier run: it is to act now."""
        if key not in self.owed or status not in (Status.MET, Status.ONCHANGES):
            return status
        return Status.CHANGE if any(chunk.arguments.get(kind) for kind in ("watch", "watch_any")) else Status.MET

    def requisites(self, key: str) -> tuple[dict[str, list[str]], list[str]]:
        """Kind → keys of the chunks meant, and a line for each item that means none."""
        chunk = self.chunks[key]
        found: dict[str, list[str]] = {}
        missing: list[str] = []
        if not has_any(chunk):
            return found, missing
        for kind in KINDS:
            for item in items(chunk, kind):
                keys = self.index.find(item, key)
                if keys:
                    if not kind.startswith("prereq"):
                        found.setdefault(kind, []).extend(keys)
                    else:
                        found.setdefault(kind, [])
                elif not may_be_empty(item):
                    missing.append(said(kind, item))
        return found, missing

    def judged(self, key: str, found: Mapping[str, list[str]]) -> tuple[Status, list[str]]:
        """The verdict, and the keys of the chunks that failed."""
        if not found:
            return Status.MET, []
        named = dict(found)
        for kind in found:
            if kind.startswith("prereq"):
                named[kind] = [one for i in items(self.chunks[key], kind) for one in self.index.find(i, key)]
        seen = {
            kind: [
                result
                for one in keys
                if (result := self.predict(one) if kind.startswith("prereq") else self.of(one)) is not None
            ]
            for kind, keys in named.items()
        }
        recursive = [
            one
            for kind, keys in found.items()
            for one in keys
            if self.of(one) is None and kind.split("_")[0] in ("require", "watch")
        ]
        status = judge(seen)
        if status is not Status.FAIL:
            return (Status.FAIL, recursive) if recursive else (status, [])
        failed = [
            one
            for kind, keys in named.items()
            if kind.split("_")[0] not in ("onfail", "onchanges")
            for one in keys
            if self.failed(one)
        ]
        return status, failed + recursive

    def failed(self, key: str) -> bool:
        result = self.of(key) or self.predictions.get(key)
        return result is not None and result.result is False

    def names(self, keys: list[str]) -> list[str]:
        return list(dict.fromkeys(f"{self.chunks[key].sls}.{self.chunks[key].id}" for key in keys))

    def predict(self, key: str) -> StateResult:
        """What a chunk that has not run yet would come to; that of one that has run is its result."""
        if key in self.pending:
            self.wait(key)
        done = self.of(key) or self.predictions.get(key)
        if done is not None:
            return done
        chunk = self.chunks[key]
        self.predictions[key] = _not_run(chunk, True, "No changes detected")
        found, _ = self.requisites(key)
        for keys in found.values():
            for first in keys:
                self.ensure(first)
        status, failed = self.judged(key, found)
        status = self.with_owed(key, chunk, status)
        if status is Status.FAIL:
            comment = "One or more requisite failed: " + ", ".join(self.names(failed))
            self.predictions[key] = _not_run(chunk, False, comment)
        elif status not in _NOT_RUN:
            prepared = self.prepare(key, chunk, status is Status.CHANGE)
            self.predictions[key] = self.foreseen(chunk, prepared, status is Status.CHANGE)
        if key in self.begun and self.predictions[key].result is True:
            self.predictions[key] = replace(self.predictions[key], result=None, changes=self.begun[key])
        return self.predictions[key]

    def prepare(self, key: str, chunk: Chunk, watched: bool) -> Prepared:
        """The plan; mod_watch's when there is nothing else to do and something watched has changed."""
        arguments = self.with_required(key, chunk)
        prepared = self.executor.plan(chunk, arguments, watched=False)
        if prepared is None:
            return Prepared(chunk=chunk, predicted=_not_run(chunk, False, f"No plan was made for {key}"))
        idle = prepared.work is None and prepared.predicted.result is True and not changed(prepared.predicted)
        if watched and idle and not prepared.skip_watch:
            return self.executor.plan(chunk, arguments, watched=True) or prepared
        return prepared

    def foreseen(self, chunk: Chunk, prepared: Prepared, watched: bool) -> StateResult:
        """What it would come to, its mod_watch included."""
        result = prepared.foresee() if prepared.foresee else prepared.predicted
        if watched and prepared.foresee and result.result is True and not result.changes:
            follow = self.executor.plan(chunk, chunk.arguments, watched=True)
            if follow is not None:
                return follow.foresee() if follow.foresee else follow.predicted
        return result

    def with_required(self, key: str, chunk: Chunk) -> Mapping[str, Value]:
        """The arguments, and in `__required__` state and name of what the chunk requires: cleaning spares those."""
        if chunk.state == "pkg" and not self.test:
            return aggregation.joined(key, self.chunks, self.could_run, self.around.aggregate)
        if not chunk.arguments.get("clean"):
            return chunk.arguments
        found = self.requisites(key)[0].get("require", [])
        return {**chunk.arguments, "__required__": [(self.chunks[one].state, self.chunks[one].name) for one in found]}

    def could_run(self, key: str) -> bool:
        """Whether a chunk is still to run and all that it names in its requisites has."""
        if self.of(key) is not None or key in self.pending or key in self.in_progress or self.followers.get(key):
            return False
        found, missing = self.requisites(key)
        names = [one for keys in found.values() for one in keys]
        if missing or any(self.of(one) is None for one in names):
            return False
        return self.judged(key, found)[0] in (Status.MET, Status.CHANGE)

    def repeated(self, key: str, chunk: Chunk, watched: bool) -> StateResult:
        """Attempts until `retry` is satisfied; one, when there is no `retry` or under test=True."""
        retry = Retry(attempts=1) if self.test else retry_of(chunk.arguments.get("retry"))
        result = self.attempt(key, chunk, watched)
        earlier: list[str] = []
        for number in range(1, retry.attempts):
            if result.result is retry.until:
                break
            earlier.append(
                f'Attempt {number}: Returned a result of "{result.result}", '
                f'with the following comment: "{result.comment}"'
            )
            self.sleep(retry.interval)
            result = self.attempt(key, chunk, watched)
        return replace(result, comment="\n".join([*earlier, result.comment])) if earlier else result

    def attempt(self, key: str, chunk: Chunk, watched: bool) -> StateResult:
        prepared = self.prepare(key, chunk, watched)
        if self.test:
            return self.foreseen(chunk, prepared, watched)
        result = prepared.predicted
        if prepared.work is not None:
            self.journal.intent(key, prepared.predicted.changes)
            result = self.executor.act(prepared)
        if watched and prepared.foresee and result.result is True and not result.changes and not result.skipped:
            follow = self.executor.plan(chunk, chunk.arguments, watched=True)
            result = result if follow is None else self.executor.act(follow) if follow.work else follow.predicted
        if key in self.begun:
            return _resumed(result, self.begun[key])
        return result

    def listeners(self) -> None:
        """mod_watch of every chunk that listens to one that changed, once each, after everything else."""
        heard: dict[str, None] = {}
        for key, chunk in self.chunks.items():
            for item in items(chunk, "listen"):
                if any(self.is_changed(one) for one in self.index.find(item, key)) and key not in self.known:
                    heard[key] = None
            for item in items(chunk, "listen_in"):
                if self.is_changed(key):
                    heard.update(dict.fromkeys(one for one in self.index.find(item, key) if one not in self.known))
            if key not in self.known and listener_key(chunk) in self.owed:
                heard[key] = None
        for key in heard:
            self.listener(self.chunks[key])
            if self.stopped:
                return

    def is_changed(self, key: str) -> bool:
        result = self.of(key)
        return result is not None and changed(result)

    def listener(self, chunk: Chunk) -> None:
        own = replace(chunk, id=f"listener_{chunk.id}")
        key = listener_key(chunk)
        if key in self.finished:
            self.keep(key, self.finished[key])
            return
        self.starts[key] = self.clock()
        prepared = self.executor.plan(own, own.arguments, watched=True)
        if prepared is None:
            result = _not_run(
                own, False, f"State '{chunk.state}.mod_watch' was not found, so nothing can listen with it"
            )
        elif self.test or prepared.work is None:
            result = prepared.predicted
        else:
            self.journal.intent(key, prepared.predicted.changes)
            result = self.executor.act(prepared)
        self.record(key, result, self.clock())


def _resumed(result: StateResult, intended: Mapping[str, Value]) -> StateResult:
    """A result after a cut-off attempt: what was intended then has happened, in part or in whole."""
    note = "" if result.changes else "\nThe changes were made by an attempt that was cut off before it could report."
    return replace(result, changes={**intended, **result.changes}, comment=result.comment + note)


def _not_run(chunk: Chunk, result: bool, comment: str) -> StateResult:
    return StateResult(name=chunk.name, result=result, comment=comment, skipped=True)
