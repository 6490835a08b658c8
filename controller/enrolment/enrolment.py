"""What becomes of a key that asks and that nobody has decided about: accepted, rejected, or left to a person.

Called by `controller.messages.key_requests`, in the transaction of the message.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from controller.enrolment.autosign import Autosign
from controller.enrolment.tokens import EnrolmentDesk
from controller.store import KeyStatus
from wire.messages import KeyRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyVerdict:
    """Where a key is to stand."""

    state: KeyStatus
    why: str = ""
    """The option or token, for the log."""
    message: str = ""
    """For the minion."""
    afterwards: Callable[[], None] = lambda: None
    """To be done when this is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Enrolment:
    """Decides without a person."""

    autosign: Autosign
    tokens: EnrolmentDesk

    def decide(self, request: KeyRequest, address: str, now: float, is_free: Callable[[], bool]) -> KeyVerdict:
        """As Salt does it: rejecting comes before accepting.

        Args:
            request: of the key.
            address: or network that it comes from.
            now: seconds since the epoch.
            is_free: says whether no other key is accepted for the id. If one is, nothing is used up.
        """
        if self.autosign.rejects(request.id):
            return KeyVerdict(state="rejected", why="autoreject_file")
        if request.role != "minion":
            return KeyVerdict(state="pending", why=f"the key of a {request.role} waits for a person")
        signed = self.autosign.accepts(request.id, request.autosign_grains, now)
        if (signed is not None or request.token) and not is_free():
            return KeyVerdict(state="pending", message="another key is accepted for this id")
        if signed is not None:
            why, afterwards = signed
            return KeyVerdict(state="accepted", why=why, afterwards=afterwards)
        if not request.token:
            return KeyVerdict(state="pending")
        token = self.tokens.take(request.token, request.id, address, now)
        if token:
            return KeyVerdict(state="accepted", why=f"enrolment token {token}")
        return KeyVerdict(
            state="pending",
            why="an enrolment token that is not good",
            message="the enrolment token is not good: unknown, for other ids, used up, expired or tried too often",
        )
