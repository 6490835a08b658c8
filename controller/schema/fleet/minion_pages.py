"""Pages of minions. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from controller.schema.minions import MinionStatus
from controller.schema.structs import ApiStruct
from controller.schema.targets import TargetKind


class MinionPageQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/v1/minions`."""

    expression: Annotated[str, msgspec.Meta(max_length=10_000)] | None = None
    """A target; without one, all minions."""
    kind: TargetKind = "glob"
    text: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """Part of the id, in small or capital letters."""
    sync: Annotated[str, msgspec.Meta(max_length=200)] = ""
    """One of these, with commas between them: `OutOfSync,Progressing`."""
    health: Annotated[str, msgspec.Meta(max_length=200)] = ""
    sort: Literal["minion", "sync", "health"] = "minion"
    """`sync` and `health`: the worst first."""
    descending: bool = False
    offset: Annotated[int, msgspec.Meta(ge=0, le=10_000_000)] = 0
    limit: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 100


class MinionPage(ApiStruct, frozen=True, kw_only=True):
    """Some of the minions that are meant."""

    minions: tuple[MinionStatus, ...]
    total: int
    """How many there are on all pages."""
    offset: int
    at: float
    """When it was looked last which minions have which state; what the page shows of them is newer."""
