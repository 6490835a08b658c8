"""Between the wire's thread and the loop: hands batches over, and holds the wire back when the loop falls behind.

What is not read stays in the peers' own queues, so a flood costs the flooder its time and us a bounded memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable, Sequence

from wire.server.server import Server
from wire.server.types import Delivery

HIGH = 20_000
"""Deliveries that wait until no more are read."""
LOW = 2_000
"""Deliveries that still wait when reading goes on."""


class Backpressure:
    """Gives batches to the loop.

    Args:
        loop: on which batches are handled, in order.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._server: Server | None = None
        self._deliver: Callable[[Sequence[Delivery]], None] | None = None
        self._lock = threading.Lock()
        self._waiting = 0
        self._held = False

    def attach(self, server: Server, deliver: Callable[[Sequence[Delivery]], None]) -> None:
        """Say what is held back, and who handles a batch (and must not raise). Before the server starts."""
        self._server, self._deliver = server, deliver

    def put(self, batch: Sequence[Delivery]) -> None:
        """Called from the wire's thread."""
        with self._lock:
            self._waiting += len(batch)
            if self._waiting > HIGH and not self._held and self._server is not None:
                self._held = True
                self._server.hold()
        with contextlib.suppress(RuntimeError):  # the loop is closed: minions keep what was not acknowledged
            self._loop.call_soon_threadsafe(self._take, batch)

    def _take(self, batch: Sequence[Delivery]) -> None:
        if self._deliver is not None:
            self._deliver(batch)
        with self._lock:
            self._waiting -= len(batch)
            if self._held and self._waiting < LOW and self._server is not None:
                self._held = False
                self._server.resume()
