"""Agents of minions that are replaced, as the API shows them (`saltern migrate agent`)."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from controller.schema.structs import ApiStruct, Identifier, StreamStruct
from controller.schema.targets import TargetExpression


class ReplacementQuestion(ApiStruct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`saltern migrate agent`."""

    target: TargetExpression
    to: Literal["saltern", "salt"] = "saltern"
    """The agent that shall answer."""
    test: bool = False
    """Look at each machine, and change nothing."""
    batch: Annotated[str, msgspec.Meta(max_length=20)] = "10%"
    """So many at a time. After one that fails no other is begun."""
    controller: Annotated[str, msgspec.Meta(max_length=255)] = ""
    """Address of this controller, as the machines reach it; empty: where it listens, if that is one address."""
    purge: bool = False
    """Remove the package of the old agent, too."""


class ReplacementView(StreamStruct, frozen=True, kw_only=True, tag="replacement"):
    """How far the replacement of one agent is."""

    minion: Identifier
    to: Literal["saltern", "salt"]
    step: Literal[
        "planned",
        "refused",
        "installing",
        "starting",
        "handed over",
        "retiring",
        "going back",
        "done",
        "failed",
        "not begun",
    ]
    """`planned`: what would be done stands in `plan`; `failed`: the old agent answers, as before; `refused` and `not
    begun`: nothing was touched."""
    at: float = 0.0
    why: str = ""
    hint: str = ""
    plan: tuple[str, ...] = ()
    """What would be done, step by step."""
    notes: tuple[str, ...] = ()
    """What of the old agent's configuration the new one does not take, each with the reason."""
    user: str = ""
