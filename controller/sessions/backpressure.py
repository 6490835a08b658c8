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
        loop: on which `deliver` is called, in order.
        deliver: handles a batch; must not raise.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, deliver: Callable[[Sequence[Delivery]], None]) -> None:
        self._loop = loop
        self._deliver = deliver
        self._lock = threading.Lock()
        self._waiting = 0
        self._held = False
        self.server: Server | None = None
        """Set by whoever wires both ends, before the server starts."""

    def put(self, batch: Sequence[Delivery]) -> None:
        """Called from the wire's thread."""
        with self._lock:
            self._waiting += len(batch)
            if self._waiting > HIGH and not self._held and self.server is not None:
                self._held = True
                self.server.hold()
        with contextlib.suppress(RuntimeError):  # the loop is closed: minions keep what was not acknowledged
            self._loop.call_soon_threadsafe(self._take, batch)

    def _take(self, batch: Sequence[Delivery]) -> None:
        self._deliver(batch)
        with self._lock:
            self._waiting -= len(batch)
            if self._held and self._waiting < LOW and self.server is not None:
                self._held = False
                self.server.resume()
