"""Where the fleet, its environments and its waves stand. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from controller.schema.minions import HealthName, SyncName
from controller.schema.structs import ApiStruct

GroupScope: TypeAlias = Literal["fleet", "environment", "wave"]
ConditionType: TypeAlias = Literal[
    "Synced", "Healthy", "Compiled", "Suspended", "WindowOpen", "RolloutProgressing", "RemotesReachable"
]
ConditionStatus: TypeAlias = Literal["True", "False", "Unknown"]


class FleetStatusQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern status --by`."""

    by: GroupScope = "fleet"
    recent: bool = False
    """The last look at a large fleet will do, as for a page that is asked for again and again; `at` tells its time."""


class GroupCondition(ApiStruct, frozen=True, kw_only=True):
    """What holds of a group, as conditions of Kubernetes say it."""

    type: ConditionType
    status: ConditionStatus
    reason: str
    """One word: `OutOfSync`, `CompileError`."""
    message: str
    last_transition: float
    """When the status became what it is."""


class StateCount(ApiStruct, frozen=True, kw_only=True):
    """Minions with the same sync status and health."""

    sync: SyncName
    health: HealthName
    minions: int


class RevisionCount(ApiStruct, frozen=True, kw_only=True):
    """A revision, and how many minions have it."""

    revision: str
    """Label; empty: none."""
    attempted: int
    """Minions for which it was compiled last."""
    applied: int
    """Minions that have it in full."""


class ReasonCount(ApiStruct, frozen=True, kw_only=True):
    """Why minions are not synced or not healthy: those with the same reason and text together."""

    reason: str
    message: str = ""
    minions: int
    since: float | None = None
    """Of the minion where it is so for the longest time, as far as that is known."""
    names: tuple[str, ...] = ()
    """The first of them."""


class GroupStatus(ApiStruct, frozen=True, kw_only=True):
    """Some minions together."""

    scope: GroupScope
    name: str
    minions: int
    connected: int
    states: tuple[StateCount, ...] = ()
    revisions: tuple[RevisionCount, ...] = ()
    """Those of the most minions first."""
    more_revisions: int = 0
    reasons: tuple[ReasonCount, ...] = ()
    """The worst first. A minion may have several."""
    more_reasons: int = 0
    conditions: tuple[GroupCondition, ...] = ()


class FleetStatusView(ApiStruct, frozen=True, kw_only=True):
    """`saltern status --by`."""

    at: float
    """When it was looked at."""
    groups: tuple[GroupStatus, ...]
