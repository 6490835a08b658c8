"""What minions say of runs: that one has begun, how far it is, how it ended.

Called by `MessageHandlers`. A result is stored together with what it makes of the minion, once, however often it comes.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import structlog

from controller.jobs.job_returners import returners_of
from controller.messages.context import MessageContext
from controller.observe.drift_classes import counted, drift_class, noted
from controller.observe.push_check import REASON
from controller.observe.redactor import Redactor
from controller.observe.run_functions import arguments_of, function_of
from controller.observe.run_text import count_states, progress_data, run_summary, typed_arguments
from controller.reconcile.observation import is_touched_check
from controller.reconcile.reconciler import Reconciler
from controller.sessions.sessions import Progress, Session
from controller.store import NEVER_BEGUN, AppliedRecord, DesiredRecord, Past, RunRecord
from controller.store.run_tables.state_runs import StoredStateEnd
from reactors import tags
from wire.messages import APPLIES_NOW, MOST_METADATA, NOT_APPLIED, PruneReport, RunProgress, RunResult

log = structlog.get_logger("saltern.runs")

MOST_RETURN = 32 * 1024
"""Bytes of a function's value in an event."""

_DIGEST = re.compile(r"[0-9a-f]{64}")
_DRIFT_ID = re.compile(r"drift(?:watch)?-[\w.@:-]{1,200}", re.ASCII)
_SCHEDULED_ID = re.compile(r"scheduled-[\w.@:-]{1,200}", re.ASCII)
_CALLED_ID = re.compile(r"called-[\w.@:-]{1,200}", re.ASCII)
_HEALED_ID = re.compile(r"heal-[\w.@:-]{1,200}", re.ASCII)
"""Runs that a minion begins by itself: its drift checks, calls of its `schedule`, what somebody calls there
(`salt-call`), and, while it reaches no controller, remediations."""

HEALED_ALONE = "healed while the controller was away"
"""The cause of a remediation that a minion began by itself."""

WENT_BACK_ALONE = "nobody confirmed it in time: went back while the controller was away"
"""The cause of a run by which a minion went back by itself."""

MOST_TOLD = 50
"""States in an event about drift."""

PROGRESS_SECONDS = 0.2
"""What a minion says of a run's progress sooner than this after the last is not passed on."""

MOST_PROGRESS = 16
"""Runs of a minion of which the progress is known at a time; it runs few at once."""


@dataclass(slots=True, kw_only=True)
class RunResults:
    """Stores results of runs, and passes them to their waiters."""

    context: MessageContext
    reconciler: Reconciler
    redactor: Redactor
    keep_runs: int
    keep_bytes: int
    """Of the results of a minion."""
    waiters: dict[str, asyncio.Future[RunResult]] = field(default_factory=dict)
    """Run id -> waiter for the result of a call or a test."""
    watchers: dict[str, Callable[[RunProgress], None]] = field(default_factory=dict)
    """Run id -> receiver of its progress."""

    def started(self, session: Session, run_id: str) -> None:
        """A minion has begun a run."""
        run = self.context.store.runs.get(run_id)
        if run is not None and run.minion == session.minion:
            if not self.context.store.runs.start(run_id, session.seen):
                return  # it is said again
            if run.kind == "drift":
                return  # a check is quiet: only what it finds is published
            self.tell_start(run)

    def tell_start(self, run: RunRecord) -> None:
        """Publish that a run has begun, once that is written."""
        event = {"minion": run.minion, "run": run.run_id}
        self.context.bus.publish(
            f"saltern/run/{run.run_id}/started", event, cause=self.reconciler.causes.run_event(run)
        )

    def progressed(self, session: Session, message: RunProgress) -> None:
        """Pass on how far a run is: of a minion's own runs, and no more often than a minion has reason to say it."""
        run_id = message.run_id
        if run_id in session.progress:
            if 0.0 <= session.seen - session.progress[run_id].at < PROGRESS_SECONDS:
                return
            acts = session.progress[run_id].acts
        else:
            run = self.context.store.runs.get(run_id)
            if not (is_own_run(run_id) if run is None else run.minion == session.minion and run.finished is None):
                return
            acts = not _DRIFT_ID.fullmatch(run_id) if run is None else _acts(run)
            while len(session.progress) >= MOST_PROGRESS:
                session.progress.pop(next(iter(session.progress)))
        message = self.redactor.progress(session.minion, message)
        session.progress[run_id] = Progress(message, session.seen, acts)
        if (watcher := self.watchers.get(run_id)) is not None:
            watcher(message)
        self.context.bus.publish(
            tags.run_progress(run_id),
            progress_data(session.minion, message),
            cause=self.reconciler.causes.open_run_event(run_id),
        )

    def ended(self, session: Session, result: RunResult) -> bool:
        """A minion tells the result of a run: of one that it was asked for, or that it may begin by itself.

        False when it is of neither, and is not stored.
        """
        run = self.context.store.runs.get(result.run_id)
        if run is None and is_own_run(result.run_id, result.kind):
            run = self._own_run(session, result)
        if run is None or run.minion != session.minion:
            self.context.metrics.refused("unknown-run")
            log.warning("result of an unknown run ignored", minion=session.minion, run_id=result.run_id)
            return False
        self._end(run, self.redactor.result(session.minion, result))
        return True

    def answer_here(self, run: RunRecord, result: RunResult) -> None:
        """The controller itself answers a call: it does not compile, or shows what was compiled."""
        self._end(run, self.redactor.result(run.minion, result))
        self.context.after_commit.run()

    def lost(self, run: RunRecord) -> None:
        """A minion no longer has the document of a run: it ends without the minion."""
        self._end(run, _lost(run))

    def _own_run(self, session: Session, result: RunResult) -> RunRecord:
        store, minion = self.context.store, session.minion
        revision = revision_of(digest_of(result.digest), store.desired.get(minion), store.applied.get(minion))
        if result.own is not None and result.own.back_from:
            found = [row.confirmation for row in store.minions.status([minion]) if row.confirmation is not None]
            revision = next((each.revision for each in found if each.digest == result.digest), revision)
        run = self.own_record(minion, result, revision)
        store.runs.create(run)
        if result.kind == "remediate":
            own = result.own
            if own is not None and own.back_from:
                self.reconciler.causes.minion_went_back(run, digest_of(own.back_from))
            else:
                self.reconciler.causes.minion_remediated(run, own.drift_run if own is not None else "")
                self.context.metrics.remediated_alone(result.outcome)
        # A minion starts these itself, as many as it likes.
        store.runs.prune(self.keep_runs, minion, self.keep_bytes)
        return run

    def own_record(self, minion: str, result: RunResult, revision: str) -> RunRecord:
        """A run that a minion has begun by itself, of the document of a revision."""
        touched = is_touched_check(result.run_id)
        return RunRecord(
            run_id=result.run_id,
            minion=minion,
            kind=result.kind,
            created=self.context.clock(),
            digest=digest_of(result.digest),
            generation=result.generation,
            revision=revision,
            test=result.kind == "drift",
            keys=tuple(result.states) if touched else None,
            reason="changed by others" if touched else self._own_reason(minion, result),
            fun=self.redactor.of(minion).text(result.fun) if result.kind == "call" else "",
            args=self._own_arguments(minion, result) if result.kind == "call" else "",
        )

    def _own_arguments(self, minion: str, result: RunResult) -> str:
        return self.redactor.of(minion).text(typed_arguments(result.fun, result.args, result.kwargs))

    def _own_reason(self, minion: str, result: RunResult) -> str:
        """Why a minion has begun a run by itself."""
        if result.kind != "call":
            return _alone_reason(result)
        what = f"{result.fun} {self._own_arguments(minion, result)}".strip()
        by_hand = _CALLED_ID.fullmatch(result.run_id)
        how = (
            "called on the minion" if by_hand else f"schedule {self.redactor.of(minion).text(result.schedule)}".strip()
        )
        return f"{how}: {what}" if what else how

    def _end(self, run: RunRecord, result: RunResult) -> None:
        """Store a result; all that follows from it happens once, however often it comes."""
        if (session := self.context.sessions.session(run.minion)) is not None:
            session.progress.pop(run.run_id, None)
        changed, failed = count_states(result.states)
        with self.context.store.transaction():  # the result and what it makes of the minion stand or fall together
            first = self.context.store.runs.finish(
                run.run_id,
                result.outcome,
                finished=self.context.clock(),
                started=result.started or None,
                seconds=result.seconds,
                changes=changed,
                failed=failed,
                summary=summary_of(result),
                ending=result.ending,
                keys=self.redactor.keys(run.minion, run.keys),
                classes=self._classes(run, result),
                result={
                    "states": result.states,
                    "value": result.value,
                    "error": result.error,
                    "retcode": result.retcode,
                },
            )
            if first:
                known = self.context.store.prune_reports.of_each([run.minion])
                self.keep_report(run, result, known)
                self._follow(run, result, changed, failed)
        if first:
            self._tell_waiters([(run, result)])

    def _follow(self, run: RunRecord, result: RunResult, changed: int, failed: int) -> None:
        """What a result that is stored makes of the minion."""
        event = self._publish_result(run, result, changed, failed)
        if run.kind in ("call", "preview"):
            self.reconciler.forget_run(run)
        elif result.ending == NEVER_BEGUN:
            self.reconciler.never_began(run)
        else:
            own = result.own if is_own_run(run.run_id, "remediate") else None
            back_from = digest_of(own.back_from) if own is not None else ""
            self.reconciler.ended(run, result.outcome, cause=event, back_from=back_from)

    def keep_report(self, run: RunRecord, result: RunResult, known: dict[str, PruneReport]) -> None:
        """What no state names any more, after a run that looked at the whole inventory.

        `known`: minion -> what the store has of it; it is brought up to date.
        """
        report = result.prune
        if run.kind not in ("apply", "remediate", "drift") or result.outcome == "error" or is_touched_check(run.run_id):
            return
        told = report if report and (report.owned or report.full) else None
        if told == known.get(run.minion):
            return
        self.context.store.prune_reports.put(run.minion, told)
        if told is None:
            del known[run.minion]
        else:
            known[run.minion] = told

    def tell_states(self, ended: Sequence[tuple[RunRecord, RunResult, StoredStateEnd]]) -> None:
        """Tell how runs of states ended, once that is written, with what `ended` does for a result that it stores."""
        with self.reconciler.together():
            for run, result, end in ended:
                self._follow(run, result, end.changes, end.failed)
        self._tell_waiters([(run, result) for run, result, _ in ended])

    def tell_calls(self, ended: Sequence[tuple[Session, RunRecord, RunResult]]) -> None:
        """Tell how calls ended, once that is written: what `ended` does for a result that it stores itself."""
        for session, run, result in ended:
            session.progress.pop(run.run_id, None)
            self._publish_result(run, result, 0, 0)
            self.reconciler.forget_run(run)
        self._tell_waiters([(run, result) for _, run, result in ended])

    def _tell_waiters(self, ended: Sequence[tuple[RunRecord, RunResult]]) -> None:
        given = [(run.run_id, result) for run, result in ended if run.run_id in self.waiters]
        if given:
            self.context.after_commit.add(partial(self._give, given))
        for kind in dict.fromkeys(run.kind for run, _ in ended):
            of_kind = [(result.outcome, result.seconds, run.run_id) for run, result in ended if run.kind == kind]
            self.context.metrics.runs_ended(kind, of_kind)
        self._trace(ended)

    def _trace(self, ended: Sequence[tuple[RunRecord, RunResult]]) -> None:
        """Tell of pushes that minions have applied, or failed to."""
        traces, now = self.context.metrics.traces, self.context.clock()
        if traces.spans is not None:
            for run, result in ended:
                known = self.context.store.revisions.get(run.revision) if run.kind == "apply" else None
                if known is not None:
                    traces.run_ended(run, result.outcome, result.seconds, known.first_seen, now)

    def _give(self, given: Sequence[tuple[str, RunResult]]) -> None:
        """To those who wait for them: not before they are stored, as they come again where that failed."""
        for run_id, result in given:
            waiter = self.waiters.pop(run_id, None)
            if waiter is not None and not waiter.done():
                waiter.set_result(result)

    def _classes(self, run: RunRecord, result: RunResult) -> dict[str, int]:
        """What a run of the whole machine has found, by class; what it says of its states is kept with their past."""
        known = self.context.store.runs.get(run.run_id)
        if run.kind not in ("apply", "remediate", "drift") or known is None or known.finished is not None:
            return {}
        return self.classes(run, result, self.context.store.drift.of(run.minion))[1]

    def classes(self, run: RunRecord, result: RunResult, before: Past) -> tuple[Past, dict[str, int]]:
        """The past of the states of a minion after a run of states, which is kept; what a drift check has found."""
        now = self.context.clock()
        after = noted(before, result.states, now, test=run.test, after_push=run.reason.startswith(REASON))
        if after != before:
            self.context.store.drift.put(run.minion, after)
        if run.kind != "drift":
            return after, {}
        new = {
            key: each
            for key in after
            if (each := drift_class(after[key], now)) != drift_class(before.get(key, ()), now)
        }
        if any(new.values()):
            told = {key: each.value for key, each in list(new.items())[:MOST_TOLD] if each is not None}
            data = {"id": run.minion, "run": run.run_id, "states": told}
            self.context.bus.publish(f"saltern/minion/{run.minion}/drift", data, revision=run.revision)
        return after, counted(after, result.states, now)

    def _publish_result(self, run: RunRecord, result: RunResult, changed: int, failed: int) -> int:
        """Publish how a run ended; the id of the event."""
        data = {
            "run": run.run_id,
            "kind": run.kind,
            "user": run.user,
            "outcome": result.outcome,
            "changes": changed,
            "failed": failed,
            "cause": run.reason,
            "error": result.error,
            **({"ret": ",".join(returners_of(run.returners).names)} if run.returners else {}),
            **_schedule_data(run, result),
            **self._metadata(run, result),
            **call_data(run, result),
        }
        cause = self.reconciler.causes.run_event(run)
        self._log_end(run, result, changed, failed)
        said = tags.job_return(run.job or run.run_id, run.minion, data)
        return self.context.bus.publish(*said, cause=cause, revision=run.revision).id

    def _log_end(self, run: RunRecord, result: RunResult, changed: int, failed: int) -> None:
        """What changed a machine, or should have; calls and checks that end well are of who asked for them."""
        good = result.outcome in ("ok", "changed", "pending")
        tell = log.info if run.kind in ("apply", "remediate") or not good else log.debug
        more = {"revision_digest": run.revision} if run.revision else {}
        more |= {"error": result.error} if result.error else {}
        tell(
            "run ended",
            minion=run.minion,
            run_id=run.run_id,
            **({"job": run.job} if run.job else {}),
            kind=run.kind,
            outcome=result.outcome,
            changes=changed,
            failed=failed,
            seconds=round(result.seconds, 3),
            **more,
        )

    def _metadata(self, run: RunRecord, result: RunResult) -> dict[str, Any]:
        """Those of the job, by the controller's own word: that the minion says some only shows that there are any."""
        if not run.job or not result.metadata:
            return {}
        found = self.context.store.jobs.metadata(run.job)
        return {"metadata": dict(found)} if found else {}


def _acts(run: RunRecord) -> bool:
    """Whether a run may change its minion."""
    return not (run.test or run.kind in ("drift", "preview") or "test=True" in run.args.split())


def call_data(run: RunRecord, result: RunResult) -> dict[str, Any]:
    """What Salt's event says of the return of a function; a value that is too large for events is left out."""
    success = result.outcome in ("ok", "changed", "pending")
    value = result.value if result.value is not None or not result.states else result.states
    data = {
        "fun": function_of(run),
        "fun_args": arguments_of(run),
        "success": success,
        "retcode": result.retcode or int(not success),
    }
    if run.kind != "call":
        return data
    return data if len(msgspec.msgpack.encode(value)) > MOST_RETURN else {**data, "return": value}


def summary_of(result: RunResult) -> str:
    """One line about a run."""
    return run_summary(result.states, result.error or _not_compiled(result))


def _not_compiled(result: RunResult) -> str:
    """Why states did not compile: the value is a list of errors then."""
    if result.ending != "compile error" or not isinstance(result.value, list):
        return ""
    return "\n".join(map(str, result.value))


def _schedule_data(run: RunRecord, result: RunResult) -> dict[str, Any]:
    """What Salt's event says of a job of the minion's own schedule: `schedule` and `metadata`."""
    if not (result.schedule and is_own_run(run.run_id, run.kind)):
        return {}
    small = result.metadata and len(msgspec.msgpack.encode(result.metadata)) <= MOST_METADATA
    return {"schedule": result.schedule, **({"metadata": result.metadata} if small else {})}


def is_own_run(run_id: str, kind: str = "") -> bool:
    """Whether a minion may begin a run with this id by itself, of this kind or of any."""
    patterns = (("drift", _DRIFT_ID), ("call", _SCHEDULED_ID), ("call", _CALLED_ID), ("remediate", _HEALED_ID))
    return any(pattern.fullmatch(run_id) for each, pattern in patterns if kind in (each, ""))


def _alone_reason(result: RunResult) -> str:
    """Why a minion has begun a run of its document by itself."""
    if result.kind != "remediate":
        return "schedule"
    if result.own is None:
        return HEALED_ALONE
    if result.own.back_from:
        return f"{WENT_BACK_ALONE} for {result.own.alone:.0f} s"
    about = f": drift {result.own.drift_run}" if _DRIFT_ID.fullmatch(result.own.drift_run) else ""
    return f"{HEALED_ALONE} for {result.own.alone:.0f} s{about}"


def digest_of(text: str) -> str:
    """What a minion gives as the digest of a document; nothing when it is none."""
    return text if _DIGEST.fullmatch(text) else ""


def applied_of(text: str) -> str:
    """What a minion says that it applied for another controller; nothing when that is none."""
    return text if text in (NOT_APPLIED, APPLIES_NOW) else digest_of(text)


def revision_of(digest: str, desired: DesiredRecord | None, applied: AppliedRecord | None) -> str:
    """The revision that gave a minion the document with this digest.

    A minion checks the document that it holds, which is newer than the applied one while a push is on its way.
    """
    if desired is not None and desired.digest == digest:
        return desired.compiled_revision
    return applied.revision if applied is not None else ""


def _lost(run: RunRecord) -> RunResult:
    return RunResult(
        run_id=run.run_id,
        kind=run.of_minion,
        generation=run.generation,
        digest=run.digest,
        outcome="error",
        error="the minion no longer has the document of this run",
    )
