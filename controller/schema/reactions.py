"""What reactors did. Times are seconds since the epoch."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from controller.schema.events import EventView
from controller.schema.structs import ApiStruct, Identifier


class ReactionView(ApiStruct, frozen=True, kw_only=True):
    """One event that reactors answered."""

    id: str
    time: float
    event: str
    """Id of the event."""
    tag: str
    """Of the event."""
    minion: str = ""
    outcome: str = ""
    """`ok`, `failed`; empty while it goes on, or when the controller ended first."""
    rule: str = ""
    """Name of the native rule that fired; empty: reactors answered."""
    sls: tuple[str, ...] = ()
    reactions: tuple[dict[str, Any], ...] = ()
    """Each with `id`, `type`, `fun`, `tgt`, and `jobs`: minion -> run, or the jid of a runner under an empty name."""
    errors: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0
    """From the event being taken until all was begun."""


class ReactionTrace(ApiStruct, frozen=True, kw_only=True):
    """A reaction, with the event that it answered and what followed from it, oldest first."""

    reaction: ReactionView
    steps: tuple[EventView, ...] = ()


class ReactionQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern reactions show`."""

    id: Annotated[Identifier, msgspec.Meta(min_length=1)]


class ReactionsQuery(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern reactions list`."""

    limit: Annotated[int, msgspec.Meta(ge=1, le=10_000)] = 20
    minion: Identifier = ""
    """Only those that answered an event about this one."""
    before: Identifier = ""
    """Only those that began before this reaction (its id): the next page."""
