"""Frames between the controller and a compile worker: four bytes say how long one is.

The controller's end trusts nothing: each frame has a deadline and a bound, whatever the worker sends, or does not read.
What the worker writes to stdout and stderr is read meanwhile, and its end is kept for an error. Knows nothing of what
frames hold.
"""

from __future__ import annotations

import math
import os
import select
import socket
import time
from contextlib import suppress

_HEAD_BYTES = 4
_READ_BYTES = 256 * 1024
_OUTPUT_BYTES = 64 * 1024
_TAIL_BYTES = 2000


class ChannelClosed(Exception):
    """The other end is closed."""


class WorkerLate(Exception):
    """The other end has not sent, or not read, all of a frame in time."""


class LimitExceeded(Exception):
    """The other end sends more than it may.

    Args:
        limit: which one, as a field of `CompileWorkerLimits`.
    """

    def __init__(self, limit: str) -> None:
        super().__init__(limit)
        self.limit = limit


class WorkerChannel:
    """One end. `close` it; `shut_down` may be called from another thread, and ends whoever waits.

    Args:
        sock: a stream.
        output: descriptor of a pipe, the other end of which is stdout and stderr of the process at the other end.
    """

    def __init__(self, sock: socket.socket, output: int | None = None) -> None:
        self._sock = sock
        self._output = output
        self._tail = b""
        self.output_bytes = 0
        """That were read; whoever counts sets it back."""
        self.most_output = math.inf
        """How much that may become."""

    def send(self, body: bytes, until: float = math.inf) -> None:
        """Send a frame before the time `until` (of `time.monotonic`)."""
        rest = memoryview(len(body).to_bytes(_HEAD_BYTES, "big") + body)
        while rest:
            try:
                rest = rest[self._guarded_send(rest) :]
            except BlockingIOError:
                self._wait(select.POLLOUT, until)

    def receive(self, most: float = math.inf, limit: str = "", until: float = math.inf) -> bytes:
        """The next frame.

        Args:
            most: bytes that it may have.
            limit: name of this bound.
            until: when it must have come (of `time.monotonic`).

        Raises:
            ChannelClosed, WorkerLate, LimitExceeded: nothing more can be read from here then.
        """
        size = int.from_bytes(self._exactly(_HEAD_BYTES, until), "big")
        if size > most:
            raise LimitExceeded(limit)
        return self._exactly(size, until)

    def has_more(self, until: float) -> bool:
        """Whether something can be read before this time; the end of the stream counts."""
        try:
            self._wait(select.POLLIN, until)
        except WorkerLate:
            return False
        return True

    @property
    def tail(self) -> str:
        """The last that was written to stdout and stderr."""
        with suppress(LimitExceeded):
            self._drain()
        return self._tail.decode(errors="replace").strip()

    def shut_down(self) -> None:
        """Nothing can be sent or received any more; wakes whoever waits."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Give up the descriptors."""
        self._sock.close()
        if self._output is not None:
            os.close(self._output)
            self._output = None

    def _exactly(self, size: int, until: float) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self._sock.recv(min(size - len(data), _READ_BYTES), socket.MSG_DONTWAIT)
            except BlockingIOError:
                self._wait(select.POLLIN, until)
                continue
            except OSError as error:
                raise ChannelClosed(str(error)) from error
            if not part:
                raise ChannelClosed("the socket is closed")
            data += part
        return bytes(data)

    def _guarded_send(self, rest: memoryview) -> int:
        try:
            return self._sock.send(rest, socket.MSG_DONTWAIT | socket.MSG_NOSIGNAL)
        except BlockingIOError:
            raise
        except OSError as error:
            raise ChannelClosed(str(error)) from error

    def _wait(self, event: int, until: float) -> None:
        """Until the socket can be read or written; what is written to stdout and stderr is read all the while."""
        ready = select.poll()
        ready.register(self._sock, event)
        if self._output is not None:
            ready.register(self._output, select.POLLIN)
        while True:
            rest = until - time.monotonic()
            found = {descriptor for descriptor, _ in ready.poll(None if rest == math.inf else max(0.0, rest * 1000))}
            if not found:
                raise WorkerLate
            if self._output in found and not self._drain() and self._output is not None:
                ready.unregister(self._output)
            if self._sock.fileno() in found:
                return
            if time.monotonic() >= until:
                raise WorkerLate

    def _drain(self) -> bool:
        """Read what was written to stdout and stderr; whether there may come more."""
        if self._output is None:
            return False
        try:
            part = os.read(self._output, _OUTPUT_BYTES)
        except BlockingIOError:
            return True
        self._tail = (self._tail + part)[-_TAIL_BYTES:]
        self.output_bytes += len(part)
        if self.output_bytes > self.most_output:
            raise LimitExceeded("output_bytes")
        return bool(part)
