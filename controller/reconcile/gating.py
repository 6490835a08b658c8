"""What keeps a minion from what is live until a rollout comes to it: the port that `controller.rollouts` fills."""

from __future__ import annotations

from typing import Protocol

from controller.reconcile.deciding.observed_state import ObservedState
from controller.store import StatusRow


class RolloutGate(Protocol):
    """Asked for each minion that is looked at."""

    def waits(self, row: StatusRow) -> str:
        """What the minion waits for, for people; empty where nothing keeps it."""

    def saw(self, minion: str, state: ObservedState) -> None:
        """The minion was looked at."""

    def is_taken_back(self, revision: str) -> bool:
        """Whether a revision, by its digest, was taken back."""


class OpenGate:
    """Keeps nobody: what stands there until a controller has rollouts."""

    def waits(self, row: StatusRow) -> str:
        """See `RolloutGate`."""
        return ""

    def saw(self, minion: str, state: ObservedState) -> None:
        """See `RolloutGate`."""

    def is_taken_back(self, revision: str) -> bool:
        """See `RolloutGate`."""
        return False
