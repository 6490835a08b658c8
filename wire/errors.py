"""What can go wrong on the wire.

WireError
├── MalformedMessage   a frame that is too large or cannot be read as a message
│   └── OverLimit      a message that is over a limit
├── PatchMismatch      a patch that does not fit the document it is applied to
├── BadKey             a key file or key text that is no CURVE key
├── SealBroken         a frame or handshake of a sealed session that is not what it should be
├── CannotBind         the address that the controller should listen on is not to be had
└── CannotConnect      what should be the controller's address is none
"""

from __future__ import annotations


class WireError(Exception):
    """Base of this room's errors."""


class MalformedMessage(WireError):
    """A frame that cannot be read as a message."""


class OverLimit(MalformedMessage):
    """A message that is over a limit.

    Args:
        limit: field of `wire.limits.MinionLimits`.
        text: what is over it.
    """

    def __init__(self, limit: str, text: str) -> None:
        super().__init__(text)
        self.limit = limit


class PatchMismatch(WireError):
    """The patch was made for another document."""


class BadKey(WireError):
    """No CURVE key."""


class CannotBind(WireError):
    """The address cannot be listened on."""


class CannotConnect(WireError):
    """The address is none."""


class SealBroken(WireError):
    """A frame of a sealed session that is not the next one of it, or a handshake that fails."""
