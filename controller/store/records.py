"""What the store holds, as types. Made by the loop, kept by `controller.store`; nothing here touches a database.

Times are seconds since the epoch. Labels are what people see of a revision (a short commit id); digests name content.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import msgspec

from highstate.types import Problem
from wire.messages import FactAnswer, FactQuery, KeyRole, RunKind

NEVER_BEGUN = "unreachable"
"""`RunRecord.ending` of a run that was lost on its way to its minion: nothing of it was run."""

KeyStatus: TypeAlias = Literal["pending", "accepted", "rejected"]
RecordKind: TypeAlias = RunKind | Literal["runner", "wheel"]
"""Of a minion's runs, and of the controller's own calls."""
RunState: TypeAlias = Literal["requested", "started", "finished"]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRecord:
    """A minion's key. The id is the one that it first asked for."""

    public_key: str
    id: str
    state: KeyStatus
    fingerprint: str
    first_seen: float
    changed: float
    conflict: bool = False
    """Another key is accepted for this id, or for one that differs in case only; or it waits, and another came before
    it that waits for the same. Salt denies such a key."""
    role: KeyRole = "minion"
    salt_fingerprint: str = ""
    """Of the RSA key of a stock minion, as Salt shows it; empty: it is none, or no gateway vouches for it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionRecord:
    """What is known of a minion."""

    id: str
    grains: Mapping[str, Any] = field(default_factory=dict)
    session: str = ""
    held: str = ""
    """Digest of the document that it said it holds."""
    epoch: str = ""
    """Epoch of the controller to which it last said hello."""
    last_seen: float | None = None
    paused: bool = False
    agent: str = ""
    """What was connected last, as it said itself; empty: nothing that said so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionSource:
    """Where one remote stands in a revision. Remotes of one repository at one commit are one source."""

    remotes: tuple[str, ...]
    """Names of the remotes: states first, then pillar and formulas."""
    commit: str
    subject: str = ""
    author: str = ""
    before: str = ""
    """The commit of the revision before, when it is another one."""
    moved: bool = False
    """Whether the revision before had it elsewhere, or not at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RevisionRecord:
    """A revision of the trees that was compiled or refused: the set of all its sources.

    `commit`, `subject`, `author` and `committed_at` are those of the first source that moved.
    """

    digest: str
    label: str
    commit: str = ""
    subject: str = ""
    author: str = ""
    committed_at: float = 0.0
    first_seen: float = 0.0
    error: str = ""
    sources: tuple[RevisionSource, ...] = ()
    pull: str = ""
    """The pull request that it is of, which was not merged; empty: it was live, or was refused."""
    compile_error: str = ""
    """The first line of what was wrong first where it did not compile for a minion; empty: it compiled for all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DesiredRecord:
    """The newest compile of a minion.

    One that failed (`errors`) leaves generation, digest and compiled_revision as they were: pass what is there.
    """

    minion: str
    generation: int = 0
    """Rises with each new document; 0: there has been none."""
    revision: str = ""
    """Digest of the revision that was attempted last."""
    compiled_revision: str = ""
    """Digest of the revision that gave the document."""
    digest: str = ""
    """Of the last good document; its content is `Store.document(digest)`."""
    errors: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    volatile: tuple[str, ...] = ()
    """What else than trees and grains it stands on: functions of the machine, external pillars, a vault, programs."""
    compiled_at: float = 0.0
    saltenvs: tuple[str, ...] = ()
    """From which its states come; of one that failed those of before."""
    since: float | None = None
    """When the document became another one, or its compiles began to fail or to go well."""
    document: bytes | None = None
    """Packed document, to be written; None when the store has one with this digest. Never set on what is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BasisRecord:
    """What a minion's newest document stands on, where that is files and grains alone."""

    minion: str
    inputs: str
    """Digest of all that it is made from beside the trees: grains, options, program."""
    parts: tuple[str, ...]
    """Keys of parts of what was read of the trees, which minions share."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldRecord:
    """What a minion shall have in place of its desired document: of a pull request that somebody applied to it, or of
    an earlier revision that it was taken back to."""

    minion: str
    digest: str
    """Of the document."""
    revision: str
    """Digest of the revision that it is part of."""
    forge: str = ""
    """The pull request; empty where it was taken back."""
    project: str = ""
    number: int = 0
    head: str = ""
    """Whole commit of the pull request."""
    base: str = ""
    """Whole commit that it was merged into."""
    user: str
    at: float
    until: float = math.inf
    """Then the minion goes back, whatever became of the pull request; one that was taken back has no such time."""
    rollback: str = ""
    """Id of the rollback that took it back, together with other minions; empty: it is of a pull request."""
    taken: str = ""
    """Label of the revision that was live then."""
    why: str = ""
    """Of a rollback, for people."""
    newest: int = 0
    """Position of the newest revision when it was taken back: the first one after it ends the hold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfirmationRecord:
    """What is confirmed on a minion whose policy says `apply: confirm`."""

    minion: str
    digest: str
    """Of the document that is confirmed."""
    revision: str
    """Digest of the revision that it is part of."""
    waiting: str = ""
    """Digest of the document that waits for a confirmation; empty: none does."""
    since: float = 0.0
    """When that began to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FactRecord:
    """What a function of the live machine gave when it was asked last."""

    question: FactQuery
    answer: FactAnswer
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AppliedRecord:
    """The document that a minion last applied to its end."""

    minion: str
    generation: int
    digest: str
    revision: str
    """Digest of the revision."""
    at: float
    outcome: str


What: TypeAlias = Literal["clean", "again", "drifted", "moved"]
"""As it should be; put right, and it would change something again at once; changed; changed since git moved."""


class SeenState(msgspec.Struct, frozen=True, array_like=True):
    """What was seen of a state."""

    at: float
    """Since when."""
    what: What


Past: TypeAlias = Mapping[str, tuple[SeenState, ...]]
"""State -> what was seen of it, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """One run of a minion, or a call of the controller's own, without its result (`store.runs.result`)."""

    run_id: str
    minion: str
    """Empty for a call of the controller's own."""
    kind: RecordKind
    created: float
    generation: int = 0
    revision: str = ""
    digest: str = ""
    keys: tuple[str, ...] | None = None
    """Chunk keys; None: all."""
    test: bool = False
    state: RunState = "requested"
    outcome: str = ""
    started: float | None = None
    finished: float | None = None
    seconds: float = 0.0
    changes: int = 0
    failed: int = 0
    summary: str = ""
    reason: str = ""
    """Why it was requested, as the history shows it: `revision 1a8f598e`, `sync by alice`, `schedule`."""
    user: str = ""
    """Who asked for it; empty when nobody did, or it is not known."""
    fun: str = ""
    """The function of a `call`."""
    args: str = ""
    """Its arguments as one would type them, without passwords."""
    job: str = ""
    """The run id of the first of those that were asked for together; empty: it stands alone."""
    returners: str = ""
    """Returners that its job names (`controller.jobs.job_returners`), until they have what it returned."""
    ending: str = ""
    """What ended it, where it was not its function (`RunResult.ending`)."""
    classes: Mapping[str, int] = field(default_factory=dict)
    """Of a drift check: class of what differs -> states."""

    @property
    def of_minion(self) -> RunKind:
        """The kind of a run that a minion has; ValueError for a call of the controller's own."""
        if self.kind == "runner" or self.kind == "wheel":
            raise ValueError(f"{self.run_id} is no run of a minion")
        return self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusRow:
    """All that status and reconcile want to know of one minion, without any document."""

    minion: MinionRecord
    """Without its grains."""
    desired: DesiredRecord | None
    """With the document that is held in its place, where one is."""
    applied: AppliedRecord | None
    attempted_label: str
    applied_label: str
    applied_committed_at: float | None
    """When the applied revision was committed."""
    last_run: RunRecord | None
    """Newest finished apply or remediation that was no test."""
    last_drift: RunRecord | None
    """Newest finished drift check."""
    open_run: RunRecord | None
    """Newest apply or remediation without a result."""
    hold: HoldRecord | None = None
    confirmation: ConfirmationRecord | None = None
    compiled_for: str = ""
    """Digest of the revision that was compiled for it last, also while another one is held."""
