"""Turns Nagle's algorithm off for libgit2's connections: with it, each fetch over http or https takes 40 ms longer.

Called by `gitfs.mirror.transfers` around a connect. libgit2 sends a request's head and body apart, so the body waits
for an acknowledgement that the other side holds back for 40 ms; it has no option for that, and tells nobody its socket.
A worker has one thread that connects (`gitfs.fetching.worker`): the sockets that are there after a connect and were
not there before are the connection's own, and those of our proxy, which are to send at once too.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress


@contextmanager
def tcp_nodelay() -> Iterator[None]:
    """Set TCP_NODELAY on connections that are made in the block. For a process in which nobody else makes any."""
    before = open_sockets()
    yield
    for descriptor in open_sockets() - before:
        _set_nodelay(descriptor)


def open_sockets() -> set[int]:
    """The sockets of this process; none where the system does not tell."""
    try:
        names = os.listdir("/proc/self/fd")  # noqa: PTH208 - numbers, not paths
    except OSError:
        return set()
    return {number for number in map(int, names) if _is_socket(number)}


def _is_socket(descriptor: int) -> bool:
    try:
        return stat.S_ISSOCK(os.fstat(descriptor).st_mode)
    except OSError:
        return False  # the folder was read by it


def _set_nodelay(descriptor: int) -> None:
    with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
