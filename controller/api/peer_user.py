"""The name of the user at the other end of the unix socket. Read when a connection is made, by `DeadlineProtocol`.

The kernel says who it is (SO_PEERCRED), so that nobody can claim another name. The name goes into events, into the
history and to terminals: characters that are not printable are escaped.
"""

from __future__ import annotations

import pwd
import socket
import struct
from functools import lru_cache

LONGEST_NAME = 64
"""Characters."""
_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid: `struct ucred` of unix(7)."""


def peer_user(connection: socket.socket | None) -> str:
    """The name of the user who connected, `uid 1000` where it has no name; empty unless it is a unix socket."""
    if connection is None or connection.family != socket.AF_UNIX:
        return ""
    _, uid, _ = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    return user_name(uid)


@lru_cache(maxsize=256)
def user_name(uid: int) -> str:
    """The name of a user, bounded and escaped. The database of users is asked once for each."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)[:LONGEST_NAME]
