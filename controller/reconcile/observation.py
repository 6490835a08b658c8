"""The observed state of one minion, put together from what the store, its session and the memory of a loop say. Pure.

Called by `Reconciler` for its decisions, and through it for what people see.
"""

from __future__ import annotations

from dataclasses import dataclass

from controller.observe.drift_classes import DriftClass
from controller.reconcile.deciding.confirming import Confirmation
from controller.reconcile.deciding.observed_state import Drift, LastRun, ObservedState, OpenRun, Request
from controller.sessions.sessions import Session
from controller.store import ConfirmationRecord, RunRecord, StatusRow
from wire.messages import CHECKS_RUNS, GOES_BACK, HEALS_ALONE

GOOD = frozenset({"ok", "changed"})
"""Outcomes after which a document counts as applied."""


@dataclass(frozen=True, slots=True)
class Streak:
    """How often in a row something happened to a minion; only its back-off depends on it, so it may be forgotten."""

    digest: str = ""
    """Of the document that it was about."""
    count: int = 0
    at: float = 0.0
    """When it happened last, in seconds since the epoch."""


NO_STREAK = Streak()


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaks:
    """Streaks of one minion."""

    failures: Streak = NO_STREAK
    remediations: Streak = NO_STREAK
    touched: Streak = NO_STREAK
    """Remediations of what somebody else had just changed."""
    checked: str = ""
    """Id of the newest run after which the whole highstate was looked at, or is being looked at."""
    missed: str = ""
    """Id of the check that found states that the plan of a push missed."""


def observe(
    row: StatusRow,
    session: Session | None,
    streaks: Streaks,
    request: Request | None = None,
    *,
    suspended: bool = False,
    looked: str | None = None,
    lags: bool = False,
    gated: bool = False,
    taken_back: bool = False,
    superseded: bool = False,
    visited: bool = False,
    acting: tuple[str, ...] = (),
    open_tests: tuple[OpenRun, ...] = (),
) -> ObservedState:
    """The facts about one minion.

    Args:
        row, session: what the store has; its connection, None when it has none.
        streaks, request: what happened to it again and again; what a person asks for and has no answer to yet.
        suspended, looked: whether its policy pauses it; digest of what it was asked to look at, None: not in shadow.
        visited, lags, gated, taken_back, superseded, acting, open_tests: see `ObservedState`.
    """
    desired = row.desired
    return ObservedState(
        connected=session is not None,
        visited=visited,
        paused=row.minion.paused or suspended or looked is not None,
        shadow=looked is not None,
        unseen=looked is not None and _unseen(row, looked),
        broken=bool(desired and desired.errors),
        generation=desired.generation if desired else 0,
        desired=desired.digest if desired else "",
        held=session.held if session else row.minion.held,
        sent=session.sent_digest if session else "",
        applied=row.applied.digest if row.applied else "",
        applied_for_others=session.applied if session else "",
        follows=session is None or session.follows,
        lags=lags,
        gated=gated,
        taken_back=taken_back,
        knows_autonomy=_takes(session, HEALS_ALONE),
        autonomy=session.autonomy if session else "",
        knows_confirmed=_takes(session, GOES_BACK),
        confirmed=session.confirmed if session else "",
        knows_checks=_takes(session, CHECKS_RUNS),
        acting=acting,
        hold_until=row.hold.until if row.hold else None,
        superseded=superseded,
        unchanged=row.applied is not None and row.applied.outcome == "ok",
        confirmation=_confirmation(row.confirmation),
        open_run=_open_run(row.open_run, session),
        open_tests=open_tests,
        runs=_runs(session),
        last_run=_last_run(row.last_run, streaks.failures),
        drift=_drift(row, streaks, shadow=looked is not None),
        unchecked=_unchecked(row, streaks.checked),
        request=request,
    )


def _runs(session: Session | None) -> bool:
    """Whether a run goes on that may change the minion."""
    return session is not None and any(each.acts for each in session.progress.values())


def _takes(session: Session | None, word: str) -> bool:
    """Whether a minion is connected and has said so in `Hello.takes`."""
    return session is not None and word in session.takes


def is_touched_check(run_id: str) -> bool:
    """Whether a minion began this check because somebody touched what it manages (`minion.agent.drift_watch`)."""
    return run_id.startswith("driftwatch-")


def is_by_minion(run_id: str) -> bool:
    """Whether a minion remediated by itself, while it reached no controller (`minion.agent.autonomy`)."""
    return run_id.startswith("heal-")


def _open_run(run: RunRecord | None, session: Session | None) -> OpenRun | None:
    if run is None:
        return None
    sent = session is not None and run.run_id in session.sent
    return OpenRun(
        run_id=run.run_id,
        digest=run.digest,
        sent=sent,
        asked_at=run.created,
        whole=run.keys is None,
        person=bool(run.user),
    )


def _confirmation(record: ConfirmationRecord | None) -> Confirmation | None:
    if record is None:
        return None
    return Confirmation(confirmed=record.digest, waiting=record.waiting, since=record.since)


def _last_run(run: RunRecord | None, failures: Streak) -> LastRun | None:
    if run is None:
        return None
    return LastRun(
        digest=run.digest,
        good=run.outcome in GOOD,
        finished_at=run.finished or run.created,
        failures=failures.count if failures.digest == run.digest else 1,
    )


def _unchecked(row: StatusRow, checked: str) -> str:
    run, drift = row.last_run, row.last_drift
    if run is None or run.kind != "apply" or run.keys is None or run.outcome not in GOOD or run.run_id == checked:
        return ""
    if row.applied is None or row.applied.digest != run.digest:
        return ""
    looked = drift is not None and drift.keys is None and drift.created >= (run.finished or 0.0)
    return "" if looked else run.run_id


def _unseen(row: StatusRow, looked: str) -> bool:
    """Whether no drift check of what a minion shall have has ended, or was asked for."""
    found, desired = row.last_drift, row.desired
    return desired is not None and desired.digest not in (looked, found.digest if found else "")


def _drift(row: StatusRow, streaks: Streaks, *, shadow: bool) -> Drift | None:
    found, looked_at = row.last_drift, row.desired if shadow else row.applied
    if found is None or looked_at is None or found.digest != looked_at.digest or found.outcome in GOOD:
        return None
    if row.last_run is not None and (row.last_run.finished or 0.0) >= (found.finished or 0.0):
        return None
    acting = found.classes.get(DriftClass.NOT_CONVERGENT, 0)
    chunks = found.changes + found.failed - acting
    if acting and chunks <= 0:
        return None
    touched = is_touched_check(found.run_id)
    streak = streaks.touched if touched else streaks.remediations
    return Drift(
        run_id=found.run_id,
        found_at=found.finished or found.created,
        chunks=chunks,
        remediations=streak.count,
        remediated_at=streak.at,
        missed=found.run_id == streaks.missed,
        touched=touched,
    )
