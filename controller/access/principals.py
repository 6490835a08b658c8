"""Who asks: a user of this machine, as the kernel says, or the holder of a token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.config.access import TokenScope

OF_MINION = "minion "
"""Before its id, the name of a minion that has something done (`peer`, `peer_run`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Somebody who asks."""

    name: str
    """As it goes into events, the history and the audit log."""
    groups: frozenset[str] = frozenset()
    method: str = "socket"
    """How it is known who that is: `socket`, or the method of `external_auth` that a token was given for."""
    token: str = ""
    """Id of the token that was shown."""
    everything: bool = False
    """Root and the controller's own user: they could read its files and its memory as well."""
    scopes: tuple[TokenScope, ...] = ()
    """What the token is for; none: everything that its holder may."""
    expires: float = 0.0
    """Seconds since the epoch until which that is known; 0: no end."""
    address: str = ""
    """Where the request came from, when it came over the network."""
    request: str = ""
    """Id of the request."""

    @property
    def who(self) -> str:
        """Key under which is counted what one principal does, whatever token it shows."""
        return f"{self.method} {self.name}"


NOBODY = Principal(name="")
"""Who cannot be known may do nothing."""


def of_local_user(name: str, uid: int, groups: Sequence[str], own_uid: int) -> Principal:
    """The user at the other end of the unix socket.

    Args:
        name: of the user.
        uid: its number.
        groups: names of its groups.
        own_uid: the controller's.
    """
    return Principal(name=name, groups=frozenset(groups), everything=uid in (0, own_uid))
