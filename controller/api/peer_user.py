"""The user at the other end of the unix socket. Read when a connection is made, by `DeadlineProtocol`.

The kernel says who it is (SO_PEERCRED), so that nobody can claim another name. The name goes into events, into the
history and to terminals: characters that are not printable are escaped.
"""

from __future__ import annotations

import ctypes
import errno
import grp
import os
import pwd
import socket
import struct
from collections.abc import Sequence
from functools import lru_cache

from controller.access.principals import NOBODY, Principal, of_local_user

LONGEST_NAME = 64
"""Characters."""
_CREDENTIALS = struct.Struct("3i")
"""pid, uid and gid: `struct ucred` of unix(7)."""
_SO_PEERGROUPS = 59
"""Of Linux 4.13 and later; Python has no name for it."""
_FEW_GROUPS, _MOST_GROUPS = 256, 65_536
"""What is asked for first, and what a process may be in (NGROUPS_MAX)."""
_LIBC = ctypes.CDLL(None, use_errno=True)
"""`socket.getsockopt` of Python takes 1,024 bytes at most, which is too little."""


def peer_user(connection: socket.socket | None) -> Principal:
    """The user who connected, called `uid 1000` where it has no name; nobody unless it is a unix socket."""
    if connection is None or connection.family != socket.AF_UNIX:
        return NOBODY
    _, uid, gid = _CREDENTIALS.unpack(connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size))
    groups = {group_name(each) for each in (gid, *_more_groups(connection))}
    return of_local_user(user_name(uid), uid, sorted(groups), os.geteuid())


def _more_groups(connection: socket.socket) -> Sequence[int]:
    """Its supplementary groups, as the kernel says; none where it does not."""
    for most in (_FEW_GROUPS, _MOST_GROUPS):
        found = (ctypes.c_uint32 * most)()
        size = ctypes.c_uint32(ctypes.sizeof(found))
        if not _LIBC.getsockopt(connection.fileno(), socket.SOL_SOCKET, _SO_PEERGROUPS, found, ctypes.byref(size)):
            return found[: size.value // ctypes.sizeof(ctypes.c_uint32)]
        if ctypes.get_errno() != errno.ERANGE:
            break
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
