"""The loop over a lowstate.

Called by the minion (`run`). A chunk goes through four steps:

1. Its requisites are run first where they stand later, and judged (`requisites.judge`).
2. The executor plans it; when it watches something that changed and has nothing else to do, its mod_watch is planned.
3. Under test=True the prediction is the result. Otherwise the intent is journalled, the plan acted on, and the
   result journalled.
4. After all chunks come the listeners.

A run that was cut off starts again from the top: results in the journal are taken as they are. A chunk with an intent
and no result may have acted in part or in whole, so whatever its new plan says, its watchers see it as changed.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime

from highstate.run.ports import Executor, Journal, MemoryJournal, Prepared
from highstate.run.requisites import KINDS, Index, Status, changed, items, judge
from highstate.run.retry import Retry, retry_of
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
    index: Index = field(init=False)
    results: dict[str, StateResult] = field(default_factory=dict)
    predictions: dict[str, StateResult] = field(default_factory=dict)
    followers: dict[str, list[str]] = field(default_factory=dict)
    """Key → keys of the chunks that are a prereq of it, so must run before it."""
    in_progress: set[str] = field(default_factory=set)
    finished: Mapping[str, StateResult] = field(init=False)
    begun: Mapping[str, Mapping[str, Value]] = field(init=False)
    stopped: bool = False

    def __post_init__(self) -> None:
        self.index = Index(self.chunks)
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
                return self.results
        self.listeners()
        return self.results

    def of(self, key: str) -> StateResult | None:
        return self.results.get(key) or self.known.get(key)

    def ensure(self, key: str) -> None:
        """Run a chunk unless it is done, known, or about to be done further up."""
        if self.of(key) is not None or key in self.in_progress or self.stopped:
            return
        self.in_progress.add(key)
        start = self.clock()
        if key in self.finished:
            self.keep(key, self.finished[key])
        else:
            result = self.one(key)
            if not self.stopped:
                self.record(key, result, start)
        self.in_progress.discard(key)

    def record(self, key: str, result: StateResult, start: float) -> None:
        stamped = replace(
            result,
            start_time=datetime.fromtimestamp(start).time().isoformat(),
            duration=round((self.clock() - start) * 1000, 3),
        )
        if not self.test:
            self.journal.done(key, stamped)
        self.keep(key, stamped)

    def keep(self, key: str, result: StateResult) -> None:
        self.results[key] = replace(result, run_num=len(self.results))
        chunk = self.chunks.get(key)
        hard = self.failhard or (chunk is not None and chunk.arguments.get("failhard") is True)
        self.stopped = self.stopped or (hard and result.result is False)

    def one(self, key: str) -> StateResult:
        """The steps of one chunk, from its requisites to its result."""
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
        if status in _NOT_RUN:
            return _not_run(chunk, True, _NOT_RUN[status])
        return self.repeated(key, chunk, status is Status.CHANGE)

    def requisites(self, key: str) -> tuple[dict[str, list[str]], list[str]]:
        """Kind → keys of the chunks meant, and a line for each item that means none."""
        chunk = self.chunks[key]
        found: dict[str, list[str]] = {}
        missing: list[str] = []
        for kind in KINDS:
            for item in items(chunk, kind):
                keys = self.index.find(item, key)
                if keys:
                    if not kind.startswith("prereq"):
                        found.setdefault(kind, []).extend(keys)
                    else:
                        found.setdefault(kind, [])
                elif not _may_be_empty(item):
                    missing.append(_said(kind, item))
        return found, missing

    def judged(self, key: str, found: Mapping[str, list[str]]) -> tuple[Status, list[str]]:
        """The verdict, and the keys of the chunks that failed."""
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
        if status is Status.FAIL:
            comment = "One or more requisite failed: " + ", ".join(self.names(failed))
            self.predictions[key] = _not_run(chunk, False, comment)
        elif status not in _NOT_RUN:
            self.predictions[key] = self.prepare(key, chunk, status is Status.CHANGE).predicted
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

    def with_required(self, key: str, chunk: Chunk) -> Mapping[str, Value]:
        """The arguments, and in `__required__` state and name of what the chunk requires: cleaning spares those."""
        if not chunk.arguments.get("clean"):
            return chunk.arguments
        found = self.requisites(key)[0].get("require", [])
        return {**chunk.arguments, "__required__": [(self.chunks[one].state, self.chunks[one].name) for one in found]}

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
            return prepared.predicted
        result = prepared.predicted
        if prepared.work is not None:
            self.journal.intent(key, prepared.predicted.changes)
            result = self.executor.act(prepared)
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
        for key in heard:
            self.listener(self.chunks[key])
            if self.stopped:
                return

    def is_changed(self, key: str) -> bool:
        result = self.of(key)
        return result is not None and changed(result)

    def listener(self, chunk: Chunk) -> None:
        own = replace(chunk, id=f"listener_{chunk.id}")
        key = replace(own, fun="mod_watch").tag
        if key in self.finished:
            self.keep(key, self.finished[key])
            return
        start = self.clock()
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
        self.record(key, result, start)


def _resumed(result: StateResult, intended: Mapping[str, Value]) -> StateResult:
    """A result after a cut-off attempt: what was intended then has happened, in part or in whole."""
    note = "" if result.changes else "\nThe changes were made by an attempt that was cut off before it could report."
    return replace(result, changes={**intended, **result.changes}, comment=result.comment + note)


def _not_run(chunk: Chunk, result: bool, comment: str) -> StateResult:
    return StateResult(name=chunk.name, result=result, comment=comment, skipped=True)


def _may_be_empty(item: Value) -> bool:
    """`{file: null}` and globs over SLS name nothing without being wrong (Salt)."""
    if not isinstance(item, Mapping):
        return not isinstance(item, str)
    return all(
        value is None or (state == "sls" and any(c in str(value) for c in "*?[")) for state, value in item.items()
    )


def _said(kind: str, item: Value) -> str:
    text = ", ".join(f"{state}: {value}" for state, value in item.items()) if isinstance(item, Mapping) else str(item)
    return f"    {kind}:\n        {text}"
