"""What a rollout is: immutable records, kept whole in the store. Times are seconds since the epoch."""

from __future__ import annotations

import enum

import msgspec

from controller.policy.rollout import Gate, RolloutPolicy


class Phase(enum.Enum):
    """Where a rollout stands."""

    PENDING = "Pending"
    """People have to approve it."""
    PROGRESSING = "Progressing"
    WAITING = "Waiting"
    """The next wave has to be promoted."""
    PAUSED = "Paused"
    CONFIRMING = "Confirming"
    """All is applied, and is taken back unless somebody confirms it."""
    COMPLETED = "Completed"
    FAILED = "Failed"
    """It stopped where it was."""
    ABORTED = "Aborted"
    ROLLED_BACK = "RolledBack"
    """It failed, or was not confirmed, and its revision was taken back."""
    SUPERSEDED = "Superseded"
    """Another revision went live."""


ENDED = frozenset((Phase.COMPLETED, Phase.FAILED, Phase.ABORTED, Phase.ROLLED_BACK, Phase.SUPERSEDED))


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """Minions that are released together."""

    wave: str
    canary: bool = False
    minions: tuple[str, ...]
    soak: float = 0.0
    approve: bool = False
    """Whether somebody has to promote it."""
    gates: tuple[Gate, ...] = ()

    @property
    def title(self) -> str:
        """`production (canary)`."""
        return f"{self.wave} (canary)" if self.canary else self.wave


class Consent(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody approved it."""

    user: str
    at: float


class Rollout(msgspec.Struct, frozen=True, kw_only=True):
    """A revision on its way to the minions that it changes something for."""

    id: str
    revision: str
    """Digest."""
    label: str
    about: str = ""
    """What moved, for people."""
    created: float
    policy: RolloutPolicy
    batches: tuple[Batch, ...]
    needs: int = 0
    """Approvals before it begins."""
    approvals: tuple[Consent, ...] = ()
    current: int = 0
    """Place of the batch that is released now or next; their number where all are done."""
    released_at: float | None = None
    """When that was; None: it is not yet."""
    absent: frozenset[str] = frozenset()
    """Minions of released batches that were not there at their release; nobody waits for these."""
    well_since: float | None = None
    """Since when nothing of the current batch is open."""
    promoted: int = 0
    """Batches before this place need no promotion."""
    phase: Phase = Phase.PROGRESSING
    since: float = 0.0
    """Of the phase."""
    why: str = ""
    user: str = ""
    """Who paused, aborted or confirmed it."""

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.phase in ENDED

    @property
    def batch(self) -> Batch | None:
        """The current one; None where all are done."""
        return self.batches[self.current] if self.current < len(self.batches) else None

    @property
    def waits_for_promotion(self) -> bool:
        """Whether the current batch is not released before somebody promotes it."""
        batch = self.batch
        return batch is not None and batch.approve and self.released_at is None and self.current >= self.promoted

    @property
    def released(self) -> tuple[Batch, ...]:
        """Those that may apply the revision."""
        return self.batches[: self.current + (self.released_at is not None)]

    @property
    def size(self) -> int:
        """Minions of all batches."""
        return sum(len(each.minions) for each in self.batches)
