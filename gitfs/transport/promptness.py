"""Takes the wait out of libgit2's connections: 40 ms of each fetch over http or https.

Called by `gitfs.mirror.mirror` around a connect. libgit2 sends a request's head and body apart and leaves Nagle's
algorithm on, so the body waits for an acknowledgement that the other side holds back for 40 ms; it has no option for
that, and tells nobody its socket. So the socket is looked for among the descriptors that came to be meanwhile. Where it
is not found (another thread took the number, another system), the fetch is as slow as it would be anyway.
"""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

LOOKED_AT = 64
"""Descriptors from the lowest that was free: a new one takes the lowest number there is."""


@contextmanager
def prompt_connections() -> Iterator[None]:
    """Connections that are made meanwhile send at once."""
    lowest = _lowest_free()
    yield
    for descriptor in range(lowest, lowest + LOOKED_AT):
        # No harm where it is a connection of another thread of ours: it sends at once then, too.
        with suppress(OSError):
            _send_at_once(descriptor)


def _lowest_free() -> int:
    descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.close(descriptor)
    return descriptor


def _send_at_once(descriptor: int) -> None:
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        return
    with socket.socket(fileno=os.dup(descriptor)) as connection:
        if connection.family in (socket.AF_INET, socket.AF_INET6) and connection.type == socket.SOCK_STREAM:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
