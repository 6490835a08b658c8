"""The facts about one minion from which it is decided what is to be done for it."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from controller.reconcile.deciding.confirming import Confirmation


class Sync(enum.Enum):
    """Does the minion have what git says? (Argo CD's words.)"""

    SYNCED = "Synced"
    OUT_OF_SYNC = "OutOfSync"
    PROGRESSING = "Progressing"
    PAUSED = "Paused"
    SHADOW = "Shadow"
    """The policy has it looked at, and nothing applied there."""
    HELD = "Held"
    """It has what a pull request says that is not merged yet, or an earlier revision that it was taken back to."""
    UNKNOWN = "Unknown"


class Health(enum.Enum):
    """Is the minion well?"""

    HEALTHY = "Healthy"
    PROGRESSING = "Progressing"
    """It was well, and a run that may change it goes on."""
    DEGRADED = "Degraded"
    """The last revision did not compile for it; it runs on the one before."""
    DRIFTED = "Drifted"
    FAILED = "Failed"
    UNREACHABLE = "Unreachable"


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRun:
    """A run that was asked for and has no result yet."""

    run_id: str
    digest: str
    """Of the document that it runs."""
    sent: bool
    """On the connection that the minion has now."""
    asked_at: float
    whole: bool = False
    """Whether it runs the whole highstate."""
    person: bool = False
    """Whether a person has asked for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LastRun:
    """How the newest finished apply or remediation ended."""

    digest: str
    good: bool
    finished_at: float
    failures: int
    """Bad ends in a row on this digest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """The newest drift report about the applied document, when it found something and nothing was applied since."""

    run_id: str
    found_at: float
    chunks: int
    remediations: int
    """Remediations in a row after which drift was found again soon; they back off."""
    remediated_at: float
    missed: bool = False
    """Whether the check after a push found it: the plan of that push left states out that have something to do."""
    touched: bool = False
    """Whether it was found in what somebody else had just changed: only those states were looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A run that a person asks for (`saltern sync`) and that has no answer yet."""

    whole: bool
    """The whole highstate instead of what is pending."""
    test: bool
    """Only say what would change."""
    user: str = ""
    """Who asks; empty when that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedState:
    """All that the decision depends on."""

    connected: bool
    visited: bool = False
    """Whether it is reached over ssh when something is wanted of it."""
    paused: bool
    shadow: bool = False
    """Whether its policy has it only looked at; then it is paused, too."""
    unseen: bool = False
    """In shadow: whether nothing has looked yet what the desired document would change."""
    broken: bool
    """The last attempted revision does not compile for this minion."""
    generation: int
    """Of the last good document; 0 when there is none."""
    desired: str
    """Digest of the last good document."""
    held: str
    """Digest of what the minion says that it holds."""
    sent: str
    """Digest of the document that was sent last in this session, empty when none."""
    applied: str
    """Digest of the document that was last applied to its end, empty when none."""
    applied_for_others: str = ""
    """Digest of the document that the minion says it applied last, where another controller asked for that run;
    `NOT_APPLIED` where that run ended badly, `APPLIES_NOW` while it goes on; empty where there is none."""
    follows: bool = True
    """Whether the minion, connected to several controllers, does what this one says."""
    lags: bool = False
    """Whether the minion applied for another controller what is not known here, and what may come with a fetch."""
    open_run: OpenRun | None = None
    open_tests: tuple[OpenRun, ...] = ()
    """Runs without acts, oldest first; the minion does not take them up again by itself."""
    runs: bool = False
    """Whether a run that may change it goes on, as the minion says: one that a person asked for, too."""
    last_run: LastRun | None = None
    drift: Drift | None = None
    unchecked: str = ""
    """Id of the newest good run of a part of the highstate, while nothing looked at the whole since."""
    request: Request | None = None
    gated: bool = False
    """Whether a rollout has not come to this minion yet."""
    taken_back: bool = False
    """Whether what it has applied was taken back, and the way back has not come to it: drift from that stays."""
    knows_autonomy: bool = False
    """Whether the minion can be told what it may do while it reaches no controller."""
    autonomy: str = ""
    """Digest of the rules for that which it has, or was sent in this session."""
    knows_confirmed: bool = False
    """Whether the minion can be told how it goes back by itself from what nobody confirmed, and its policy is known."""
    confirmed: str = ""
    """Digest of the rules for that which it has, or was sent in this session."""
    knows_checks: bool = False
    """Whether the minion can be asked how a run stands that it may not know of."""
    acting: tuple[str, ...] = ()
    """Keys of the states that are known to act each time, where its last drift check has found such."""
    hold_until: float | None = None
    """Where the desired document is held for a pull request or at an earlier revision: when it no longer is, in seconds
    since the epoch; infinite for a revision, which `superseded` ends."""
    superseded: bool = False
    """Whether something newer than what was taken back here is live, and compiled for the minion."""
    unchanged: bool = False
    """Whether the run that applied the document had nothing to change."""
    confirmation: Confirmation | None = None
    """What is confirmed, where the policy says `apply: confirm`."""
