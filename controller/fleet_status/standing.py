"""What of a minion counts for the groups that it is in, and why it is not synced or not healthy. Pure."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from controller.observe.drift_classes import IGNORED, DriftClass
from controller.policy.policy import MinionPolicy
from controller.reconcile.confirmations import is_unconfirmed
from controller.reconcile.deciding.decision import health_of, is_current, sync_of
from controller.reconcile.deciding.observed_state import Health, ObservedState, Sync
from controller.reconcile.holds import pull_name
from controller.store import StatusRow
from highstate.missing_sources import is_missing_source_warning
from reactors.windows import WindowState

_NO_DRIFT: Mapping[str, int] = MappingProxyType({})
_MOST_TEXT = 200
"""Characters of a message."""


class Reason(enum.Enum):
    """Why a minion is not synced or not healthy; the worst comes first."""

    COMPILE_ERROR = "CompileError"
    RUN_FAILED = "RunFailed"
    UNREACHABLE = "Unreachable"
    DRIFTED = "Drifted"
    UNCONFIRMED = "Unconfirmed"
    """What is applied is taken back unless somebody confirms it."""
    TAKEN_BACK = "TakenBack"
    PULL_REQUEST_APPLIED = "PullRequestApplied"
    SUSPENDED = "Suspended"
    """By the policy."""
    SHADOW = "Shadow"
    """By the policy, which has them looked at."""
    PAUSED = "Paused"
    """By a person."""
    WINDOW_CLOSED = "WindowClosed"
    WAITS_FOR_ROLLOUT = "WaitsForRollout"
    WAITS_FOR_SYNC = "WaitsForSync"
    """The policy says `apply: manual`."""
    WAITS_FOR_REMOTES = "WaitsForRemotes"
    NOT_COMPILED = "NotCompiled"
    PENDING = "Pending"
    """It is about to be applied."""
    RUNNING = "Running"


SEVERITY = {each: place for place, each in enumerate(Reason)}


class Cause(NamedTuple):
    """A reason of one minion."""

    reason: Reason
    message: str = ""
    since: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionStanding:
    """One minion."""

    minion: str
    sync: Sync
    health: Health
    connected: bool = False
    awaited: bool = False
    """Whether the controller was just started, and the minion has not connected again yet."""
    paused: bool = False
    broken: bool = False
    compiled: bool = True
    """Whether there was a compile."""
    window: str = ""
    """Why nothing is applied now; empty where it is."""
    windows: bool = False
    """Whether it has any."""
    attempted: str = ""
    applied: str = ""
    applied_at: float | None = None
    saltenvs: tuple[str, ...] = ()
    causes: tuple[Cause, ...] = ()
    drift: Mapping[str, int] = field(default_factory=lambda: _NO_DRIFT)
    """Class of what differs -> states."""
    missing_sources: int = 0
    """States whose source is not in the tree."""
    unconfirmed: bool = False


def standing_of(
    row: StatusRow, view: ObservedState, policy: MinionPolicy, window: WindowState, waits: str, *, awaited: bool
) -> MinionStanding:
    """One minion.

    Args:
        row: what the store has.
        view: the observed state.
        policy: of the minion.
        window: what its windows say now.
        waits: why a rollout keeps it; empty where none does.
        awaited: see `MinionStanding.awaited`.
    """
    sync = sync_of(view)
    return MinionStanding(
        minion=row.minion.id,
        sync=sync,
        health=health_of(view),
        connected=view.connected,
        awaited=awaited,
        paused=view.paused,
        broken=view.broken,
        compiled=bool(view.generation) or view.broken,
        window="" if window.open else window.why,
        windows=bool(policy.windows),
        attempted=row.attempted_label,
        # As in `saltern status`: a push that changes nothing for a minion is applied there when it is compiled.
        applied=row.attempted_label if is_current(view) else row.applied_label,
        applied_at=row.applied.at if row.applied else None,
        saltenvs=row.desired.saltenvs if row.desired else (),
        drift=found_drift(row, view),
        missing_sources=sum(map(is_missing_source_warning, row.desired.warnings)) if row.desired else 0,
        unconfirmed=is_unconfirmed(row),
        causes=() if _is_well(row, view, sync) else tuple(_causes(row, view, policy, window, waits)),
    )


def found_drift(row: StatusRow, view: ObservedState) -> Mapping[str, int]:
    """What the last drift check found, by class, without what is ignored; drift as long as nothing was run since."""
    found = row.last_drift.classes if row.last_drift else _NO_DRIFT
    if not found:
        return _NO_DRIFT
    shown = found if view.drift else (DriftClass.NOT_CONVERGENT,)
    return {each: found[each] for each in shown if each in found and each != IGNORED}


def never_connected(minion: str) -> MinionStanding:
    """One that was accepted and has never connected."""
    return MinionStanding(
        minion=minion,
        sync=Sync.UNKNOWN,
        health=Health.UNREACHABLE,
        compiled=False,
        causes=(Cause(Reason.UNREACHABLE, "has not connected yet"),),
    )


def _is_well(row: StatusRow, view: ObservedState, sync: Sync) -> bool:
    """Whether nothing is to be told: most of a fleet, most of the time."""
    troubled = view.drift is not None or (view.last_run is not None and not view.last_run.good)
    reached = view.connected or view.visited
    return sync is Sync.SYNCED and reached and not troubled and row.hold is None and row.confirmation is None


def _causes(
    row: StatusRow, view: ObservedState, policy: MinionPolicy, window: WindowState, waits: str
) -> Iterator[Cause]:
    failed = view.last_run is not None and not view.last_run.good
    if view.broken and row.desired:
        text = _without_id(str(row.desired.errors[0]).splitlines()[0], row.minion.id)
        yield Cause(Reason.COMPILE_ERROR, text, row.desired.since or row.desired.compiled_at)
    if failed and row.last_run:
        text = f"{row.last_run.kind} {row.last_run.outcome}: {row.last_run.summary}"
        yield Cause(Reason.RUN_FAILED, _without_id(text, row.minion.id), row.last_run.finished)
    if not (view.connected or view.visited):
        yield Cause(Reason.UNREACHABLE, "", row.minion.last_seen)
    if view.drift is not None:
        yield Cause(Reason.DRIFTED, _drift_classes(row), view.drift.found_at)
    yield from _held(row)
    if view.paused:
        by_policy = Reason.SHADOW if view.shadow else Reason.SUSPENDED
        yield Cause(Reason.PAUSED if row.minion.paused else by_policy)
    elif not (view.broken or failed):
        yield from _unsynced(row, view, policy, window, waits)


def _held(row: StatusRow) -> Iterator[Cause]:
    if is_unconfirmed(row) and row.confirmation:
        yield Cause(Reason.UNCONFIRMED, "", row.confirmation.since)
    hold = row.hold
    if hold is not None and hold.rollback:
        yield Cause(Reason.TAKEN_BACK, f"to {row.attempted_label}", hold.at)
    elif hold is not None:
        yield Cause(Reason.PULL_REQUEST_APPLIED, pull_name(hold), hold.at)


def _unsynced(
    row: StatusRow, view: ObservedState, policy: MinionPolicy, window: WindowState, waits: str
) -> Iterator[Cause]:
    since = row.desired.since if row.desired else None
    match sync_of(view):
        case Sync.UNKNOWN:
            yield Cause(Reason.NOT_COMPILED)
        case Sync.PROGRESSING if row.open_run:
            yield Cause(Reason.RUNNING, "", row.open_run.created)
        case Sync.OUT_OF_SYNC if view.lags:
            yield Cause(Reason.WAITS_FOR_REMOTES, "", since)
        case Sync.OUT_OF_SYNC if view.gated:
            yield Cause(Reason.WAITS_FOR_ROLLOUT, waits[:_MOST_TEXT], since)
        case Sync.OUT_OF_SYNC if policy.apply == "manual":
            yield Cause(Reason.WAITS_FOR_SYNC, "", since)
        case Sync.OUT_OF_SYNC if not window.open:
            yield Cause(Reason.WINDOW_CLOSED, window.why[:_MOST_TEXT], since)
        case Sync.OUT_OF_SYNC if view.connected:
            yield Cause(Reason.PENDING, "", since)


def _drift_classes(row: StatusRow) -> str:
    found = row.last_drift.classes if row.last_drift else {}
    return ", ".join(sorted(each for each in found if each not in (IGNORED, DriftClass.NOT_CONVERGENT)))


def _without_id(text: str, minion: str) -> str:
    """The text with `*` for the minion's id, so that what is the same on several minions is told once."""
    if minion in text:
        text = re.sub(rf"(?<![\w.-]){re.escape(minion)}(?![\w-])", "*", text)
    return text[:_MOST_TEXT]
