"""The decision about what `apply: confirm` has applied: it is kept where somebody confirms it, else taken back. Pure.

Called by `controller.reconcile.deciding.decision`, whose instructions it adds to. What counts as confirmed is what a
minion had when its policy first said `confirm`, and what somebody confirmed since; a document that a run reached and
that is another one waits. Level-triggered: a controller that was killed anywhere asks again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from controller.policy.policy import MinionPolicy

TAKE_BACK_AGAIN = 30.0
"""Seconds until a minion that could not be taken back is looked at again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """What is confirmed on a minion."""

    confirmed: str
    """Digest of the document."""
    waiting: str = ""
    """Digest of the document that waits; empty when none does."""
    since: float = 0.0
    """When that began to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteConfirmation:
    """Keep what is confirmed, and what waits from now on.

    Args:
        applied: whether what is applied counts as confirmed from now on.
        waiting: digest of the document that waits; empty: none does.
    """

    applied: bool = False
    waiting: str = ""


@dataclass(frozen=True, slots=True)
class ForgetConfirmation:
    """The policy asks for no confirmation any more: what is applied stays."""


@dataclass(frozen=True, slots=True)
class TakeBack:
    """Nobody confirmed it in time: the minion goes back to what is confirmed, and is held there."""


ConfirmInstruction: TypeAlias = NoteConfirmation | ForgetConfirmation | TakeBack


@dataclass(frozen=True, slots=True, kw_only=True)
class ReachedDocument:
    """What is on a minion, as far as confirmations are about it."""

    applied: str
    """Digest of the document that was last applied to its end."""
    digest: str
    """Digest of what a run reached last: of the applied document, or of one whose run ended badly."""
    unchanged: bool
    """Whether its run had nothing to change."""
    desired: str = ""
    """Digest of what it shall have."""
    busy: bool
    """Whether a run goes on there."""
    paused: bool


def confirming(
    known: Confirmation | None, reached: ReachedDocument, policy: MinionPolicy, now: float
) -> tuple[ConfirmInstruction | None, float | None]:
    """What becomes of the confirmation of a minion, and when to look again.

    Args:
        known: what is kept of it.
        reached: what is on the minion.
        policy: of the minion.
        now: seconds since the epoch.
    """
    if policy.apply != "confirm":
        return (None if known is None else ForgetConfirmation()), None
    if known is None:
        return (NoteConfirmation(applied=True) if reached.applied else None), None
    if reached.digest == known.confirmed:
        return (NoteConfirmation() if known.waiting else None), None
    if reached.busy:
        return None, None  # its end is looked at
    if reached.desired == known.confirmed and not known.waiting:
        return None, None  # it went back by itself, and has what was confirmed meanwhile before it
    if reached.unchanged and not known.waiting:
        return NoteConfirmation(applied=True), None
    if reached.digest != known.waiting:
        return NoteConfirmation(waiting=reached.digest), None
    if reached.paused:
        return None, None
    until = known.since + policy.confirm
    return (TakeBack(), now + TAKE_BACK_AGAIN) if now >= until else (None, until)
