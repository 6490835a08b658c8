"""A proxy between minions and their controller that does to connections what networks do: real sockets, made to fail.

It sees bytes of CURVE and no message. What TCP forbids (bytes twice, or in another order) it does all the same: whoever
sits between can. `make soak` goes through all faults, the suite through a few of them.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
import time
from collections.abc import Callable

CHUNK = 65536
RETRANSMISSION = 0.2
"""Seconds that a lost segment takes longer."""


class FaultyWire:
    """Passes both ports of a controller on.

    Args:
        publish: the controller's publish port.
        request: its request port.
    """

    def __init__(self, publish: int, request: int) -> None:
        self._flows = threading.Event()
        self._flows.set()
        self._lock = threading.Lock()
        self._open: list[socket.socket] = []
        self._chance = random.Random(1)
        self._then: tuple[int, Callable[[], None]] | None = None
        self.reads = 0
        """Of the request port, both ways."""
        self.delay = 0.0
        """Seconds that each read waits."""
        self.loss = 0.0
        """How likely a read waits as long as a retransmission takes."""
        self.twice = 0
        """Reads that are passed on a second time."""
        self.swapped = 0
        """Reads that are passed on after the one that follows them."""
        self._listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]
        self.publish, self.request = (each.getsockname()[1] for each in self._listeners)
        for listener, port in zip(self._listeners, (publish, request), strict=True):
            threading.Thread(target=self._accept, args=(listener, port, port == request), daemon=True).start()

    def partition(self) -> None:
        """Nothing passes, and nobody is told."""
        self._flows.clear()

    def heal(self) -> None:
        """Everything passes as it should, with what was held."""
        self.delay = self.loss = 0.0
        self.twice = self.swapped = 0
        self._then = None
        self._flows.set()

    def cut(self) -> None:
        """End all connections; new ones may be made."""
        with self._lock:
            ended, self._open = self._open, []
        for each in ended:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def after(self, reads: int, action: Callable[[], None]) -> None:
        """Do this before the bytes of the read with this number, from now on, are passed on."""
        self._then = (self.reads + reads, action)

    def close(self) -> None:
        """End everything."""
        self.heal()
        for each in self._listeners:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self.cut()

    def _accept(self, listener: socket.socket, port: int, counted: bool) -> None:
        with contextlib.suppress(OSError):
            while True:
                client = listener.accept()[0]
                try:
                    server = socket.create_connection(("127.0.0.1", port))
                except OSError:
                    client.close()
                    continue
                with self._lock:
                    self._open += [client, server]
                for source, target in ((client, server), (server, client)):
                    source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    threading.Thread(target=self._copy, args=(source, target, counted), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, counted: bool) -> None:
        held = b""
        with contextlib.suppress(OSError):
            while data := source.recv(CHUNK):
                if counted:
                    self._count()
                self._flows.wait()
                if self.delay or (self.loss and self._chance.random() < self.loss):
                    time.sleep(self.delay or RETRANSMISSION)
                if counted and self.swapped and not held:
                    self.swapped -= 1
                    held = data
                    continue
                repeated = counted and self.twice > 0
                self.twice -= repeated
                target.sendall(data + held + (data if repeated else b""))
                held = b""
        for each in (source, target):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _count(self) -> None:
        with self._lock:
            self.reads += 1
            due = self._then is not None and self.reads >= self._then[0]
            action, self._then = (self._then[1], None) if due and self._then else (None, self._then)
        if action is not None:
            action()
