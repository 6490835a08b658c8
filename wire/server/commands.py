"""Commands of other threads to the server's thread, which are queued.

Made by the public methods of `wire.server.server.Server`, carried out by its thread. Hold no behaviour.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


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


Command: TypeAlias = Send | Publish | Disconnect
