"""Frames between a minion and its relay: what kind each is, by its first byte.

Used by both ends. The first byte of a message that is not sealed is another one, so a minion that takes a relay for a
controller is told so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

OPEN: Final = 0x01
"""The opening of a sealed session, or its answer."""
DATA: Final = 0x02
"""A sealed piece."""
END: Final = 0x03
"""To the minion: the session is over; what follows is a `ChannelEnd`."""
HEAD_BYTES: Final = 1


def channel_frame(kind: int, content: bytes) -> bytes:
    """A frame of a kind."""
    return bytes((kind,)) + content


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionOpened:
    """The controller has proved its key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnded:
    """The session is over, or has not come about."""

    reason: str
