"""One minion with all that a page shows of it. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from controller.schema.minions import MinionPresence, MinionStatus
from controller.schema.structs import ApiStruct


class MinionDetailQuery(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`GET /api/v1/minions/detail`."""

    minion: Annotated[str, msgspec.Meta(max_length=1000)]


class CompiledState(ApiStruct, frozen=True, kw_only=True):
    """A state of the document that a minion shall have, without its arguments: `saltern blame` tells these."""

    key: str
    id: str
    name: str
    function: str
    """`file.managed`."""
    sls: str
    saltenv: str


class MinionDetail(ApiStruct, frozen=True, kw_only=True):
    """Where a minion stands, what it is, and the states that it shall have."""

    status: MinionStatus
    presence: MinionPresence
    grains: dict[str, Any]
    """As it told them last, without values that are secret to it; beyond `MOST_GRAINS` they are left out."""
    more_grains: int = 0
    states: tuple[CompiledState, ...] = ()
    """In running order; beyond `MOST_STATES` they are left out."""
    more_states: int = 0


MOST_GRAINS = 500
MOST_STATES = 2000
