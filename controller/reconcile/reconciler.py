"""The loop's shell: takes minions from a work queue, asks `reconcile` what to do, does it.

Triggers (a push, a message, a timer, a person) only put a minion's id into the queue with `wake`. What is to be done
follows from the store and the fleet, so that after a crash asking again is enough. It must not decide anything itself.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import assert_never

import structlog

from controller.jids import Jids
from controller.observe.metrics import Metrics
from controller.observe.plan_text import headline
from controller.reconcile.decision import (
    Apply,
    Drift,
    Instruction,
    LastRun,
    ObservedState,
    OpenRun,
    Remediate,
    RequeueAfter,
    Resend,
    SendDesired,
    TimeOutRun,
    reconcile,
)
from controller.reconcile.documents import Documents
from controller.reconcile.live import LiveRevision
from controller.reconcile.plan import plan
from controller.reconcile.queue import WorkQueue
from controller.sessions.sessions import Session, Sessions
from controller.store import AppliedRecord, DesiredRecord, RunRecord, StatusRow, Store, StoreError
from reactors.bus import Bus
from wire.messages import Run, RunKind, ToMinion
from wire.server.server import Server

log = structlog.get_logger("saltern.reconcile")

RETRY_SECONDS = 10.0
"""Until a minion is looked at again after an error of ours."""

GOOD = frozenset({"ok", "changed"})
"""Outcomes after which a document counts as applied."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run to start, as far as whoever asks for it decides."""

    kind: RunKind
    keys: tuple[str, ...] | None
    """Chunk keys; None: all."""
    cause: str
    """Why, for people."""
    test: bool = False


@dataclass(slots=True)
class _Streak:
    """How often in a row something happened to a minion; only its back-off depends on it, so it may be forgotten."""

    digest: str = ""
    count: int = 0
    at: float = 0.0


@dataclass(slots=True, kw_only=True)
class Reconciler:
    """The work queue of a controller and the hands that carry out instructions."""

    store: Store
    sessions: Sessions
    server: Server
    documents: Documents
    bus: Bus
    metrics: Metrics
    ids: Jids
    clock: Callable[[], float]
    run_timeout: float
    live: LiveRevision = field(default_factory=LiveRevision)
    _queue: WorkQueue = field(init=False)
    _causes: dict[str, int] = field(default_factory=dict)
    """Minion -> id of the event that woke it, of those that changed what it shall be."""
    _failures: dict[str, _Streak] = field(default_factory=dict)
    _remediations: dict[str, _Streak] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._queue = WorkQueue(self.clock)

    # --- the queue ---

    def wake(self, minions: Iterable[str], cause: int = 0) -> None:
        """Look at these minions soon; `cause`: id of the event that a run follows from, if one does."""
        minions = list(minions)
        if cause:
            self._causes.update(dict.fromkeys(minions, cause))
        self._queue.add(minions)

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            batch = await self._queue.take()
            if batch:
                self.step(batch)
            await asyncio.sleep(0)

    def step(self, minions: Iterable[str]) -> None:
        """Reconcile these minions once. One that cannot be is looked at again later, and keeps no other waiting."""
        now = self.clock()
        try:
            rows = self.store.minions.status(sorted(minions))
        except StoreError as error:
            log.error("the store does not answer; trying again", error=str(error))
            for minion in minions:
                self._queue.add_at(minion, now + RETRY_SECONDS)
            return
        for row in rows:
            try:
                self._reconcile(row, now)
            except Exception:
                log.exception("reconcile failed; trying again", minion=row.minion.id)
                self._queue.add_at(row.minion.id, now + RETRY_SECONDS)

    def _reconcile(self, row: StatusRow, now: float) -> None:
        self.metrics.reconciled()
        for instruction in reconcile(self.view(row), self.live.policy, now, run_timeout=self.run_timeout):
            self._carry_out(row, instruction, now)

    # --- what is so ---

    def view(self, row: StatusRow) -> ObservedState:
        """The facts about one minion."""
        minion, session = row.minion.id, self.sessions.session(row.minion.id)
        desired = row.desired
        return ObservedState(
            connected=session is not None,
            paused=row.minion.paused,
            broken=bool(desired and desired.errors),
            generation=desired.generation if desired else 0,
            desired=desired.digest if desired else "",
            held=session.held if session else row.minion.held,
            offered=session.offered if session else 0,
            applied=row.applied.digest if row.applied else "",
            open_run=_open_run(row.open_run, session),
            last_run=self._last_run(row),
            drift=self._drift(row, minion),
        )

    def _last_run(self, row: StatusRow) -> LastRun | None:
        run = row.last_run
        if run is None:
            return None
        streak = self._failures.get(row.minion.id, _Streak())
        return LastRun(
            digest=run.digest,
            good=run.outcome in GOOD,
            finished_at=run.finished or run.created,
            failures=streak.count if streak.digest == run.digest else 1,
        )

    def _drift(self, row: StatusRow, minion: str) -> Drift | None:
        found = row.last_drift
        if found is None or row.applied is None or found.digest != row.applied.digest or found.outcome in GOOD:
            return None
        if row.last_run is not None and (row.last_run.finished or 0.0) >= (found.finished or 0.0):
            return None
        streak = self._remediations.get(minion, _Streak())
        return Drift(
            run_id=found.run_id,
            found_at=found.finished or found.created,
            chunks=found.changes + found.failed,
            remediations=streak.count,
            remediated_at=streak.at,
        )

    # --- what is done ---

    def _carry_out(self, row: StatusRow, instruction: Instruction, now: float) -> None:
        minion = row.minion.id
        session = self.sessions.session(minion)
        if session is None:
            return  # it went away while its instructions were carried out; its next Hello wakes us
        match instruction:
            case SendDesired():
                self._offer(row, session)
            case Apply(whole=whole):
                self._apply(row, session, whole)
            case Remediate(cause=cause):
                streak = self._remediations.setdefault(minion, _Streak())
                streak.count, streak.at = streak.count + 1, now
                self.start(row, session, RunRequest(kind="remediate", keys=None, cause=f"drift {cause}"))
            case Resend(run_id=run_id):
                self._resend(run_id, session)
            case TimeOutRun(run_id=run_id):
                self._abandon(run_id, now)
            case RequeueAfter(time=time):
                self._queue.add_at(minion, time)
            case _:
                assert_never(instruction)

    def _abandon(self, run_id: str, now: float) -> None:
        run = self.store.runs.get(run_id)
        summary = f"no result within {self.run_timeout:g} s"
        if run is not None and self.store.runs.finish(run_id, "lost", finished=now, summary=summary):
            self.bus.publish(f"saltern/run/{run_id}/lost", {"minion": run.minion})
            self.metrics.run_ended(run.kind, "lost", now - run.created)
            self.ended(run, "lost")

    def _offer(self, row: StatusRow, session: Session) -> None:
        desired = row.desired
        if desired is None:
            return
        message = self.documents.desire(desired.generation, desired.digest, session.held)
        self._send(session, message)
        session.offered = desired.generation

    def _apply(self, row: StatusRow, session: Session, whole: bool) -> None:
        desired = row.desired
        if desired is None:
            return
        if whole or row.applied is None:
            self.start(row, session, RunRequest(kind="apply", keys=None, cause=f"revision {row.attempted_label}"))
            return
        changes = plan(self.documents.desired(row.applied.digest), self.documents.desired(desired.digest))
        if changes.run:
            order = RunRequest(kind="apply", keys=changes.run, cause=f"revision {row.attempted_label}")
            self.start(row, session, order, note=headline(changes))
            return
        # The document is new and nothing in it is to be run (a pillar key that no chunk uses, a removed chunk).
        self._applied(minion=row.minion.id, document=desired, outcome="ok", run_id="")

    def sync(self, row: StatusRow, session: Session, *, whole: bool, test: bool) -> RunRecord | None:
        """Start at once what a person asks for; None when nothing is pending. A test changes nothing.

        Args:
            row: of a minion that has a desired document and no run in progress.
            link: its connection.
            whole: the whole highstate instead of what is pending.
            test: only say what would change.
        """
        desired, applied = row.desired, row.applied
        if desired is None or not desired.generation:
            return None
        keys = None
        if not whole and applied is not None:
            last = row.last_run
            if applied.digest == desired.digest and (last is None or last.outcome in GOOD):
                return None
            if last is None or last.outcome in GOOD:
                keys = plan(self.documents.desired(applied.digest), self.documents.desired(desired.digest)).run
        if session.held != desired.digest and session.offered != desired.generation:
            self._offer(row, session)
        return self.start(
            row, session, RunRequest(kind="preview" if test else "apply", keys=keys, cause="sync", test=test)
        )

    def start(self, row: StatusRow, session: Session, order: RunRequest, *, note: str = "") -> RunRecord:
        """Record a run of the desired document and ask the minion for it. The record comes first: a crash resumes."""
        desired = row.desired
        if desired is None:
            raise ValueError(f"{row.minion.id} has no desired document")
        run = RunRecord(
            run_id=self.ids.next(),
            minion=row.minion.id,
            kind=order.kind,
            created=self.clock(),
            generation=desired.generation,
            revision=desired.compiled_revision,
            digest=desired.digest,
            keys=order.keys,
            test=order.test,
            cause=order.cause,
        )
        self.store.runs.create(run)
        event: dict[str, object] = {
            "minion": run.minion,
            "run": run.run_id,
            "kind": run.kind,
            "plan": note,
            "cause": run.cause,
        }
        event["chunks"] = len(run.keys) if run.keys is not None else "all"
        self.bus.publish(f"saltern/run/{run.run_id}/new", event, revision=row.attempted_label)
        self._send_run(run, session)
        return run

    def _resend(self, run_id: str, session: Session) -> None:
        run = self.store.runs.get(run_id)
        if run is not None:
            self._send_run(run, session)

    def _send_run(self, run: RunRecord, session: Session) -> None:
        self._send(
            session,
            Run(
                run_id=run.run_id,
                kind=run.kind,
                generation=run.generation,
                digest=run.digest,
                keys=run.keys,
                test=run.test,
            ),
        )
        session.sent.add(run.run_id)

    def _send(self, session: Session, message: ToMinion) -> None:
        self.metrics.sent(type(message).__name__)
        self.server.send(session.key, message)

    # --- what came of it ---

    def ended(self, run: RunRecord, outcome: str) -> None:
        """A run of the whole machine ended (once for each run): what it means for the minion's applied state."""
        minion, now = run.minion, self.clock()
        if run.kind == "drift":
            if outcome in GOOD:
                self._remediations.pop(minion, None)
        elif outcome in GOOD and not run.test:
            self._failures.pop(minion, None)
            self._applied(minion=minion, document=run, outcome=outcome, run_id=run.run_id)
        elif not run.test:
            streak = self._failures.setdefault(minion, _Streak())
            streak.count = streak.count + 1 if streak.digest == run.digest else 1
            streak.digest, streak.at = run.digest, now
        self.wake([minion])

    def _applied(self, *, minion: str, document: RunRecord | DesiredRecord, outcome: str, run_id: str) -> None:
        """The minion has this document in full now."""
        revision = document.revision if isinstance(document, RunRecord) else document.compiled_revision
        self.store.applied.put(
            AppliedRecord(
                minion=minion,
                generation=document.generation,
                digest=document.digest,
                revision=revision,
                at=self.clock(),
                outcome=outcome,
            )
        )
        known = self.store.revisions.get(revision)
        label = known.label if known else ""
        data = {"id": minion, "run": run_id, "generation": document.generation, "outcome": outcome}
        self.bus.publish(f"saltern/minion/{minion}/applied", data, revision=label)
        if known is not None and isinstance(document, RunRecord) and document.kind == "apply":
            self.metrics.push_applied(max(0.0, self.clock() - known.first_seen))


def _open_run(run: RunRecord | None, session: Session | None) -> OpenRun | None:
    if run is None:
        return None
    return OpenRun(
        run_id=run.run_id,
        digest=run.digest,
        sent=session is not None and run.run_id in session.sent,
        asked_at=run.created,
    )
