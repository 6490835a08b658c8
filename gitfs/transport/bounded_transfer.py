"""Bounds of what a server sends, in bytes and seconds: libgit2 takes whatever comes, and tells nobody its socket.

Called by `gitfs.mirror.transfers` around each exchange with a server, over whatever protocol. A thread looks at the
connections that are there in the block and were not there before; one that has received too much is shut down, which
libgit2 sees as its end. For a process in which nobody else makes connections.
"""

from __future__ import annotations

import os
import socket
import struct
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from gitfs.transport.callbacks import TransferCutOff
from gitfs.transport.tcp_nodelay import open_sockets
from options.limits import CountRefusal

LOOK_SECONDS = 0.02
"""Between two looks; the first exchange with a near server is over before the first."""
_BYTES_RECEIVED = 128
"""Where `struct tcp_info` (linux/tcp.h) has `tcpi_bytes_received`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferBounds:
    """What one exchange may cost, and the names of these limits."""

    most_bytes: int
    bytes_limit: str
    what: str
    """What has so many bytes, for the error."""
    seconds: float | None = None
    seconds_limit: str = ""


@contextmanager
def bounded(bounds: TransferBounds, on_refusal: CountRefusal) -> Iterator[None]:
    """End the connections of the block when they exceed the bounds; TransferCutOff then says so."""
    watch = _Watch(bounds)
    thread = threading.Thread(target=watch.run, name="transfer-bounds", daemon=True)
    thread.start()
    try:
        yield
    except Exception:
        if watch.exceeded is None:
            raise
    finally:
        watch.ended.set()
        thread.join()
    if watch.exceeded is not None:
        limit, reason = watch.exceeded
        on_refusal(limit)
        raise TransferCutOff(f"{reason} (limit {limit})", retryable=True)


class _Watch:
    def __init__(self, bounds: TransferBounds) -> None:
        self._bounds = bounds
        self._before = open_sockets()
        self._began = time.monotonic()
        self.ended = threading.Event()
        self.exceeded: tuple[str, str] | None = None
        """Limit, and what is said of it."""

    def run(self) -> None:
        while not self.ended.wait(LOOK_SECONDS):
            self._look()

    def _look(self) -> None:
        bounds = self._bounds
        is_late = bounds.seconds is not None and time.monotonic() - self._began > bounds.seconds
        for descriptor in open_sockets() - self._before:
            with suppress(OSError), socket.socket(fileno=os.dup(descriptor)) as connection:
                if is_late:
                    self.exceeded = bounds.seconds_limit, f"it took more than {bounds.seconds:g} s"
                elif _received(connection) > bounds.most_bytes:
                    self.exceeded = bounds.bytes_limit, f"{bounds.what} more than {bounds.most_bytes} bytes"
                else:
                    continue
                connection.shutdown(socket.SHUT_RDWR)


def _received(connection: socket.socket) -> int:
    """Bytes that have come over a connection; 0 where there is none."""
    if connection.family not in (socket.AF_INET, socket.AF_INET6) or connection.type != socket.SOCK_STREAM:
        return 0
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("=Q", info, _BYTES_RECEIVED)[0]) if len(info) >= _BYTES_RECEIVED + 8 else 0
