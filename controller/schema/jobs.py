"""Jobs: a function that several minions were asked for together. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from controller.schema.structs import ApiStruct, Identifier

JobOutcome: TypeAlias = Literal[
    "ok", "changed", "failed", "compile error", "refused", "timed out", "unreachable", "cancelled"
]
"""How a job ends on a minion: exactly one of these."""


class JobView(ApiStruct, frozen=True, kw_only=True):
    """One job, in a line."""

    jid: str
    fun: str
    args: str = ""
    """As one would type them; passwords are left out."""
    user: str = ""
    target: str = ""
    """As it was typed; empty for a run of states, and where it is not known any more."""
    target_type: str = ""
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)
    """What somebody gave it along (`--metadata`)."""
    created: float = 0.0
    finished: float | None = None
    """When its last minion returned; None while one is waited for."""
    minions: int = 0
    """Who was meant."""
    running: int = 0
    """On how many of them it goes on."""
    outcomes: dict[JobOutcome, int] = msgspec.field(default_factory=dict)
    """On how many of the others it ended so."""


class JobMinion(ApiStruct, frozen=True, kw_only=True):
    """What became of a job on one minion."""

    minion: str
    run_id: str = ""
    """`saltern history RUN` shows what it returned; empty: it was not asked."""
    outcome: JobOutcome | None = None
    """None: it goes on there."""
    state: str = ""
    """requested, started or finished; empty: it was not asked."""
    connected: bool = False
    last_seen: float | None = None
    started: float | None = None
    finished: float | None = None
    seconds: float = 0.0
    summary: str = ""
    """One line: why it failed, or why nothing came."""


class JobDetail(ApiStruct, frozen=True, kw_only=True):
    """One job with all its minions."""

    job: JobView
    minions: tuple[JobMinion, ...]


class JobKill(ApiStruct, frozen=True, kw_only=True):
    """A minion on which a job was to be ended."""

    minion: str
    asked: bool
    """False: it is not connected, and cannot be asked."""


class JobsQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern jobs list` and `active`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 20
    active: bool = False
    """Only those that go on."""
    minion: Identifier = ""
    """Only those that this one was asked for. This and the next four are not for `active`."""
    kind: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """One of these, with commas between them: `apply,remediate,call,preview`."""
    outcome: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Only those of which a run ended so: `failed,error,unreachable`."""
    user: Identifier = ""
    """Only those that this one asked for."""
    fun: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Part of the name of the function."""
    before: Identifier = ""
    """Only those that began before this job (its id): the next page."""
    without_control: bool = False
    """Without functions that look after other jobs, such as `saltutil.kill_job`; not with `active`."""


class JobQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern jobs show` and `kill`; the id of a job, or of a run of it."""

    jid: Annotated[Identifier, msgspec.Meta(min_length=1)]
