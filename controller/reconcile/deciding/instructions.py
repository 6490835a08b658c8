"""What the decision about a minion can say: each instruction is carried out by `controller.reconcile.reconciler`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TypeAlias

from controller.reconcile.deciding.confirming import ConfirmInstruction
from reactors.confirmation import ConfirmRules
from reactors.remediation import AutonomyRules


@dataclass(frozen=True, slots=True)
class SendDesired:
    """Send the desired document as a patch."""


@dataclass(frozen=True, slots=True)
class SendApplied:
    """Send the document that was applied last, so that drift is looked for in that."""


@dataclass(frozen=True, slots=True)
class SendAutonomy:
    """Tell the minion what it may do while it reaches no controller; None: nothing."""

    rules: AutonomyRules | None


@dataclass(frozen=True, slots=True)
class SendConfirmed:
    """Tell the minion what is confirmed, and how it goes back to that by itself; None: never."""

    rules: ConfirmRules | None


@dataclass(frozen=True, slots=True)
class TakeApplied:
    """Note that the desired document is applied: another controller has asked for the run."""


@dataclass(frozen=True, slots=True)
class WaitForRemotes:
    """Have the remotes fetched, and decide nothing before: another controller may know a newer commit."""


@dataclass(frozen=True, slots=True)
class Apply:
    """Start a run of what a push changed, or of everything."""

    whole: bool


@dataclass(frozen=True, slots=True)
class ApplyRequested:
    """Start a run of what is pending, or of everything, for the person who asks."""

    whole: bool
    test: bool


@dataclass(frozen=True, slots=True)
class JoinRun:
    """Tell the person who asks the result of a run in progress."""

    run_id: str


@dataclass(frozen=True, slots=True)
class AfterRun:
    """Have the person who asks wait for a run in progress that does not answer the request, then decide again."""

    run_id: str


class Declined(enum.Enum):
    """Why nothing is run for the person who asks."""

    UNREACHABLE = "unreachable"
    FOLLOWS_ANOTHER = "follows-another"
    PAUSED = "paused"
    OUTSIDE_WINDOW = "outside-window"
    GATED = "waits-for-rollout"
    NOTHING_PENDING = "nothing-pending"


@dataclass(frozen=True, slots=True)
class Decline:
    """Run nothing for the person who asks."""

    why: Declined


@dataclass(frozen=True, slots=True)
class LookInShadow:
    """Have a minion in shadow say what the desired document would change."""


@dataclass(frozen=True, slots=True)
class Remediate:
    """Start a run for a drift report: of the whole highstate, or of what was touched if that alone was seen."""

    drift_run: str
    touched: bool = False


@dataclass(frozen=True, slots=True)
class RemediateApplied:
    """Start a run of the whole document that was applied last, for a drift report."""

    drift_run: str


@dataclass(frozen=True, slots=True)
class CheckPush:
    """Plan the whole highstate on the minion, without acts, after this run of a part."""

    run_id: str


@dataclass(frozen=True, slots=True)
class SkipCheck:
    """The policy asks for no check after this run; one that asks for it later does not mean this run."""

    run_id: str


@dataclass(frozen=True, slots=True)
class ApplyMissed:
    """Run the states that the plan of a push missed, as this report of a check says."""

    drift_run: str


@dataclass(frozen=True, slots=True)
class Resend:
    """Ask again for a run that the minion may not know of (it repeats nothing that it has done)."""

    run_id: str


@dataclass(frozen=True, slots=True)
class CheckRun:
    """Ask how a run stands that the minion may not know of, and that it may not begin any more."""

    run_id: str


@dataclass(frozen=True, slots=True)
class TimeOutRun:
    """Close a run without a result: nothing was heard of it for too long. It counts as failed."""

    run_id: str


@dataclass(frozen=True, slots=True)
class ReleaseHold:
    """The minion shall have what is live again: the time of a pull request that was applied is over, or what it was
    taken back from is superseded."""


@dataclass(frozen=True, slots=True)
class RequeueAfter:
    """Nothing to do before this time (seconds since the epoch)."""

    time: float


WithConnection: TypeAlias = (
    SendDesired
    | SendApplied
    | SendAutonomy
    | SendConfirmed
    | TakeApplied
    | Apply
    | ApplyRequested
    | Remediate
    | RemediateApplied
    | CheckPush
    | LookInShadow
    | ApplyMissed
    | Resend
    | CheckRun
)
"""What is carried out only while the minion is connected."""

Instruction: TypeAlias = (
    WithConnection
    | WaitForRemotes
    | JoinRun
    | AfterRun
    | Decline
    | SkipCheck
    | TimeOutRun
    | ReleaseHold
    | ConfirmInstruction
    | RequeueAfter
)
