"""A relay between clients and the controller that breaks the first message after the handshake, then hangs up."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable

from tools.attack.scene import HOST

GREETING_BYTES = 64
LONG, COMMAND_HEAD = 0x02, b"\x07MESSAGE"
HELD_SECONDS = 0.2
"""How long a connection stays open after the broken message."""


class TamperingRelay:
    """Relays to a port. A CURVE MESSAGE goes on with the last byte changed, which its authentication code covers."""

    def __init__(self, controller_port: int) -> None:
        self._controller_port = controller_port
        self._listener = socket.create_server((HOST, 0))
        self.port: int = self._listener.getsockname()[1]
        self.broken = 0
        """Messages that went on changed."""
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Take no more connections."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = self._listener.accept()[0]
                threading.Thread(target=self._relay, args=(client,), daemon=True).start()

    def _relay(self, client: socket.socket) -> None:
        with (
            contextlib.suppress(OSError),
            client,
            socket.create_connection((HOST, self._controller_port), timeout=5) as controller,
            client.makefile("rb") as reader,
        ):
            threading.Thread(target=_copy, args=(controller, client), daemon=True).start()
            for _ in range(GREETING_BYTES):  # each end waits for the start of the other's greeting
                controller.sendall(reader.read(1))
            while frame := _read_frame(reader.read):
                head, body = frame
                if not body.startswith(COMMAND_HEAD):
                    controller.sendall(head + body)
                    continue
                controller.sendall(head + body[:-1] + bytes([body[-1] ^ 1]))
                self.broken += 1
                time.sleep(HELD_SECONDS)
                return


def _read_frame(read: Callable[[int], bytes]) -> tuple[bytes, bytes] | None:
    """Head and body of the next ZMTP frame; None at the end of the stream."""
    flags = read(1)
    if not flags:
        return None
    size = read(8 if flags[0] & LONG else 1)
    return flags + size, read(int.from_bytes(size, "big"))


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_RDWR)
