"""The start of runs: each is recorded before its minion is asked for it, so that a crash resumes it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from controller.reconcile.jids import Jids
from controller.reconcile.runs.causes import RunCauses
from controller.reconcile.runs.open_runs import OpenTests, RunAges
from controller.sessions.outbox import MinionOutbox
from controller.sessions.sessions import Session
from controller.store import AppliedRecord, RunRecord, StatusRow, Store
from reactors.bus import Bus
from wire.messages import Run, RunKind


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """A run to start."""

    kind: RunKind
    keys: tuple[str, ...] | None
    """Keys of states; None: all."""
    reason: str
    """Why, for people."""
    test: bool = False
    user: str = ""
    """Who asks for it; empty: nobody does."""
    applied: bool = False
    """Of the document that was applied last, in place of the desired one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarter:
    """Starts runs of documents, and asks again for those that are open.

    Called inside of `MinionOutbox.together`.
    """

    store: Store
    bus: Bus
    outbox: MinionOutbox
    ids: Jids
    clock: Callable[[], float]
    """Seconds since the epoch."""
    causes: RunCauses
    ages: RunAges
    tests: OpenTests

    def start(
        self, row: StatusRow, session: Session, order: RunRequest, *, note: str = "", event: int = 0
    ) -> RunRecord:
        """Record a run and ask the minion for it.

        Args:
            row: the minion.
            session: its connection.
            order: the run.
            note: what a push changes, for people.
            event: id of the event that the run follows from; 0: none.

        Raises:
            ValueError: the minion has no such document.
        """
        document = row.applied if order.applied else row.desired
        if document is None:
            raise ValueError(f"{row.minion.id} has no such document")
        revision = document.revision if isinstance(document, AppliedRecord) else document.compiled_revision
        run = RunRecord(
            run_id=self.ids.next(),
            minion=row.minion.id,
            kind=order.kind,
            created=self.clock(),
            generation=document.generation,
            revision=revision,
            digest=document.digest,
            keys=order.keys,
            test=order.test,
            reason=order.reason,
            user=order.user,
        )
        self.outbox.create(run)
        self.outbox.then(partial(self._begun, run, session))
        if order.kind != "drift":  # a check is quiet: only what it finds is published
            self._publish(run, row, note, event)
        self._send(run, session)
        return run

    def resend(self, run_id: str, session: Session) -> None:
        """Ask the minion once more for a run that has no result yet."""
        run = self.store.runs.get(run_id)
        if run is not None and run.finished is None:
            self._send(run, session)
        elif run is not None:
            self.tests.ended(run)

    def _publish(self, run: RunRecord, row: StatusRow, note: str, event: int) -> None:
        data: dict[str, object] = {
            "minion": run.minion,
            "run": run.run_id,
            "kind": run.kind,
            "plan": note,
            "cause": run.reason,
            "states": len(run.keys) if run.keys is not None else "all",
        }
        published = self.bus.publish(f"saltern/run/{run.run_id}/new", data, cause=event, revision=row.attempted_label)
        self.causes.follow_run(run.run_id, published.id)

    def _begun(self, run: RunRecord, session: Session) -> None:
        """A new run is recorded."""
        if run.kind in ("apply", "remediate"):
            session.applied = ""
        if run.test:
            self.tests.begun(run)
        else:
            self.ages.begun(run)

    def _send(self, run: RunRecord, session: Session) -> None:
        message = Run(
            run_id=run.run_id,
            kind=run.of_minion,
            generation=run.generation,
            digest=run.digest,
            keys=run.keys,
            test=run.test,
        )
        self.outbox.send(session, message, partial(session.sent.add, run.run_id))
