"""Rollouts, and revisions that were taken back. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import msgspec

from controller.schema.structs import ApiStruct, Identifier
from controller.schema.targets import TargetExpression

RolloutAction: TypeAlias = Literal["pause", "resume", "abort", "retry", "approve", "promote", "confirm"]


class BatchView(ApiStruct, frozen=True, kw_only=True):
    """Minions that are released together."""

    wave: str
    canary: bool
    state: Literal["waiting", "released", "done"]
    minions: int
    good: int = 0
    failed: int = 0
    pending: int = 0
    outside_window: int = 0
    absent: int = 0
    held: int = 0
    """Paused, manual, or with a pull request applied."""
    names: tuple[str, ...] = ()
    """The first of its minions."""
    failures: tuple[str, ...] = ()
    """The first on which it failed."""


class RolloutView(ApiStruct, frozen=True, kw_only=True):
    """A revision on its way to the minions that it changes something for."""

    id: str
    revision: str
    about: str
    phase: str
    since: float
    why: str
    created: float
    minions: int
    released: int
    """Minions of the batches that were released."""
    approvals: tuple[str, ...] = ()
    needs: int = 0
    batches: tuple[BatchView, ...] = ()
    """Of a single one that is shown."""


class RolloutsQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern rollout list`: of the newest 200."""

    phase: Annotated[str, msgspec.Meta(max_length=100)] = ""
    """Only those that are in this one."""
    offset: Annotated[int, msgspec.Meta(ge=0, le=200)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=200)] = 20


class RolloutQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern rollout show`. Empty: the newest."""

    name: Identifier = ""


class RolloutQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a person does with a rollout."""

    action: RolloutAction
    name: str = ""


class RollbackQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern rollback`."""

    to: str = ""
    """Label of a revision; empty: the one before the live one."""
    why: str = ""
    target: TargetExpression | None = None
    """These minions alone go back; None: everybody does."""


class QuarantineQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern rollback --undo`."""

    name: str = ""
    """Label of a revision, or its beginning; empty: all."""
    target: TargetExpression | None = None
    """These minions alone have what is live again."""


class QuarantineView(ApiStruct, frozen=True, kw_only=True):
    """A revision that does not go live, or not on some minions."""

    revision: str
    back_to: str
    user: str
    why: str
    at: float
    rollback: str = ""
    """Id, where some minions alone were taken back."""
    minions: tuple[str, ...] = ()
    """Those that are held at the earlier revision; empty: it is so for everybody."""
    passed: tuple[str, ...] = ()
    """In the answer to a rollback: earlier revisions that were passed over: they did not compile for minions."""
    broken: tuple[str, ...] = ()
    """In the answer to a rollback: minions for which `back_to` did not compile. They keep what they have."""
