"""Frames on the socket between a process and its workers: one byte says what it is, four how long it is.

Called by `gitfs.fetching.worker_pool`, which never blocks on a worker, and by `gitfs.fetching.worker`, which does.
Knows nothing of what the frames hold.
"""

from __future__ import annotations

import socket
from enum import Enum

LARGEST_FRAME = 256 * 1024 * 1024
"""Bytes; a worker that announces more is not believed."""
_READ_BYTES = 256 * 1024


class FrameKind(Enum):
    """What a frame is."""

    JOB = b"j"
    RESULT = b"r"
    QUESTION = b"q"
    """The worker needs something that its parent alone has."""
    ANSWER = b"a"
    REFUSAL = b"l"
    """The name of a limit that something exceeded."""


class PeerGone(Exception):
    """The other end of the socket is closed, or sends what is no frame."""


def send_frame(sock: socket.socket, kind: FrameKind, body: bytes) -> None:
    """Send a frame; PeerGone when nobody reads it."""
    try:
        sock.sendall(kind.value + len(body).to_bytes(4, "big") + body)
    except OSError as error:
        raise PeerGone(str(error)) from error


def receive_frame(sock: socket.socket) -> tuple[FrameKind, bytes]:
    """The next frame, waited for; PeerGone when there is none to come."""
    head = _exactly(sock, 5)
    return FrameKind(head[:1]), _exactly(sock, int.from_bytes(head[1:], "big"))


def _exactly(sock: socket.socket, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        try:
            part = sock.recv(min(size - len(data), _READ_BYTES))
        except OSError as error:
            raise PeerGone(str(error)) from error
        if not part:
            raise PeerGone("the socket is closed")
        data += part
    return bytes(data)


class FrameBuffer:
    """Frames out of a socket that is read whenever it has something."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._data = bytearray()

    def receive(self) -> list[tuple[FrameKind, bytes]]:
        """The frames that have come whole, after one read; PeerGone at the end of the stream."""
        try:
            part = self._sock.recv(_READ_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return []
        except OSError as error:
            raise PeerGone(str(error)) from error
        if not part:
            raise PeerGone("the socket is closed")
        self._data += part
        found = []
        while len(self._data) >= 5:
            size = int.from_bytes(self._data[1:5], "big")
            if size > LARGEST_FRAME:
                raise PeerGone(f"a frame of {size} bytes")
            if len(self._data) < 5 + size:
                break
            try:
                found.append((FrameKind(bytes(self._data[:1])), bytes(self._data[5 : 5 + size])))
            except ValueError:
                raise PeerGone("a frame of no known kind") from None
            del self._data[: 5 + size]
        return found
