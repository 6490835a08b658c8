"""Keeps what `confirming` decides about minions with `apply: confirm`, and what people confirm.

Called by `Reconciler`, and by the service for `saltern confirm`. Minions are taken back by
`controller.rollouts.unconfirmed`, which reads trees for that.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

import structlog

from controller.policy.policy import MinionPolicy
from controller.reconcile.deciding.confirming import ConfirmInstruction, ForgetConfirmation, NoteConfirmation, TakeBack
from controller.store import AppliedRecord, ConfirmationRecord, StatusRow, Store
from reactors.bus import Bus

log = structlog.get_logger("saltern.reconcile")


def _nobody(_minion: str, _waiting: str) -> None:
    """Nobody takes minions back."""


def _no_hold(_known: ConfirmationRecord) -> None:
    """Nobody holds minions."""


@dataclass(slots=True, kw_only=True)
class ConfirmationKeeper:
    """The confirmations of all minions."""

    store: Store
    bus: Bus
    clock: Callable[[], float]
    take_back: Callable[[str, str], None] = _nobody
    """Has a minion taken back to what is confirmed there, soon, if this document still waits."""
    hold: Callable[[ConfirmationRecord], None] = _no_hold
    """Has a minion held at what is confirmed there, at once, as it went back to that."""

    def carry_out(self, row: StatusRow, instruction: ConfirmInstruction, policy: MinionPolicy) -> None:
        """Do what was decided."""
        minion = row.minion.id
        match instruction:
            case TakeBack():
                self.take_back(minion, row.confirmation.waiting if row.confirmation else "")
            case ForgetConfirmation():
                self.store.confirmations.delete(minion)
            case NoteConfirmation(applied=True) if row.applied is not None:
                self.store.confirmations.put(_confirmed(row.applied))
            case NoteConfirmation(waiting=waiting) if row.confirmation is not None:
                self._wait(row.confirmation, waiting, policy.confirm, row)

    def _wait(self, known: ConfirmationRecord, waiting: str, seconds: float, row: StatusRow) -> None:
        now, minion = self.clock(), known.minion
        self.store.confirmations.put(replace(known, waiting=waiting, since=now if waiting else 0.0))
        if waiting:
            data = {"id": minion, "until": now + seconds}
            self.bus.publish(f"saltern/minion/{minion}/unconfirmed", data, revision=row.applied_label)
            log.info("waits for a confirmation", minion=minion, seconds=seconds)

    def went_back(self, minion: str, digest: str, back_from: str) -> None:
        """A minion that reached no controller went back by itself: it is held there, unless people decided otherwise.

        Part of the transaction that stores the result of its run, so that what it left is not applied once more.

        Args:
            minion: which.
            digest: of the document that it went back to.
            back_from: of the one that nobody had confirmed as far as it knew.
        """
        for row in self.store.minions.status([minion]):
            known, desired = row.confirmation, row.desired.digest if row.desired is not None else ""
            if known is None or row.hold is not None or known.digest != digest or desired == digest:
                continue  # confirmed meanwhile, or held already, or git says the same
            if back_from in (known.waiting, desired):
                self.hold(known)

    def confirm(self, rows: Iterable[StatusRow], user: str) -> dict[str, int]:
        """Keep what waits on these minions and is applied to its end: minion -> id of the event that says so."""
        found = {}
        for row in rows:
            if row.applied is not None and is_unconfirmed(row):
                self.store.confirmations.put(_confirmed(row.applied))
                tag, data = f"saltern/minion/{row.minion.id}/confirmed", {"id": row.minion.id, "user": user}
                found[row.minion.id] = self.bus.publish(tag, data, revision=row.applied_label).id
        return found


def is_unconfirmed(row: StatusRow) -> bool:
    """Whether what a minion has applied waits for a confirmation."""
    known = row.confirmation
    return (
        row.hold is None
        and row.applied is not None
        and known is not None
        and known.waiting == row.applied.digest != known.digest
    )


def unconfirmed_text(row: StatusRow, policy: MinionPolicy) -> str:
    """What people read of a minion on which something waits for a confirmation; empty where nothing does."""
    until = confirm_until(row, policy)
    if until is None:
        return ""
    shown = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(until))
    return f"waits for `saltern confirm {row.minion.id}`, else it goes back at {shown}"


def confirm_until(row: StatusRow, policy: MinionPolicy) -> float | None:
    """When a minion goes back, in seconds since the epoch; None where nothing waits for a confirmation."""
    if row.confirmation is None or policy.apply != "confirm" or not is_unconfirmed(row):
        return None
    return row.confirmation.since + policy.confirm


def _confirmed(applied: AppliedRecord) -> ConfirmationRecord:
    return ConfirmationRecord(minion=applied.minion, digest=applied.digest, revision=applied.revision)
