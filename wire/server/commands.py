"""Commands of other threads to the server's thread, which are queued.

Made by the public methods of `wire.server.server.Server`, carried out by its thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from wire.messages import ToController, ToMinion


@dataclass(frozen=True, slots=True, kw_only=True)
class Send:
    """A packed message for one peer."""

    key: str
    frame: bytes
    kind: str
    to_anyone: bool
    """May go to a key that is not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Publish:
    """A packed heartbeat for all subscribers."""

    frame: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Disconnect:
    """The connections of a key are to be ended."""

    key: str
    refused_seconds: float
    """Until it may connect again."""
    connection: int
    """Only if it is this one (`Incoming.connection`); 0: whichever."""


Command: TypeAlias = Send | Publish | Disconnect


def kind_of(message: ToController | ToMinion) -> str:
    """The tag of a message."""
    return str(type(message).__struct_config__.tag)
