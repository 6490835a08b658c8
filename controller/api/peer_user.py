"""The user at the other end of the unix socket. Read when a connection is made, by `DeadlineProtocol`.

The kernel says who it is (SO_PEERCRED), so that nobody can claim another name. The name goes into events, into the
history and to terminals: characters that are not printable are escaped.
"""

from __future__ import annotations

import contextlib
import grp
import os
import pwd
import socket
import struct
from functools import lru_cache

from controller.access.principals import NOBODY, Principal, of_local_user

LONGEST_NAME = 64
"""Characters."""
_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid: `struct ucred` of unix(7)."""
_SO_PEERGROUPS = 59
"""Of Linux 4.13 and later; Python has no name for it."""
_MOST_GROUPS = 65_536
"""That a process may be in."""


def peer_user(connection: socket.socket | None) -> Principal:
    """The user who connected, called `uid 1000` where it has no name; nobody unless it is a unix socket."""
    if connection is None or connection.family != socket.AF_UNIX:
        return NOBODY
    _, uid, gid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    groups = {group_name(each) for each in (gid, *_more_groups(connection))}
    return of_local_user(user_name(uid), uid, sorted(groups), os.geteuid())


def _more_groups(connection: socket.socket) -> tuple[int, ...]:
    """Its supplementary groups, as the kernel says; none where it does not."""
    with contextlib.suppress(OSError):
        packed = connection.getsockopt(socket.SOL_SOCKET, _SO_PEERGROUPS, _MOST_GROUPS * 4)
        return struct.unpack(f"{len(packed) // 4}I", packed)
    return ()


@lru_cache(maxsize=256)
def user_name(uid: int) -> str:
    """The name of a user, bounded and escaped. The database of users is asked once for each."""
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        return f"uid {uid}"
    return _printable(name)


@lru_cache(maxsize=256)
def group_name(gid: int) -> str:
    """The name of a group, bounded and escaped; `gid 1000` of one that has none."""
    try:
        name = grp.getgrgid(gid).gr_name
    except KeyError:
        return f"gid {gid}"
    return _printable(name)


def _printable(name: str) -> str:
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in name)[:LONGEST_NAME]
