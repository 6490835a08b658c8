"""Connections taken off a listening socket, with a bound on handshakes of TLS: asyncio's own server has none.

Used by the API's port, and by the port of a controller that leads for those that wait (`controller.cluster`).
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

from controller.access.rates import network_of
from options.limits import CountRefusal

_PAUSE_SECONDS = 0.1
"""After no connection could be accepted."""

HandshakeKind: TypeAlias = tuple[str, int]
"""Name of a limit, and how many handshakes that count against it go on at the same time."""


@dataclass(slots=True, kw_only=True)
class TlsAccepting:
    """Takes connections, each by TLS.

    Args:
        make_protocol: of a connection.
        tls: this end, asked for with each connection, as a certificate may be renewed; None: without TLS.
        seconds: that a handshake may take.
        kind_of: what handshakes of an address count as.
        on_refusal: takes the name of a limit that was reached.
        of_network: how many handshakes of an address or network go on at the same time.
    """

    make_protocol: Callable[[], asyncio.BaseProtocol]
    tls: Callable[[], ssl.SSLContext | None]
    seconds: float
    kind_of: Callable[[str], HandshakeKind]
    on_refusal: CountRefusal
    of_network: int | None = None
    handshakes: dict[asyncio.Task[None], tuple[str, str]] = field(default_factory=dict)
    """That go on -> what they count as, and from which network."""

    async def run(self, listener: socket.socket) -> None:
        """Take connections until it is cancelled. `listener` does not block."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    accepted, address = await loop.sock_accept(listener)
                except OSError:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    continue
                self._take(accepted, str(address[0]))
        finally:
            for task in self.handshakes:
                task.cancel()

    def _take(self, accepted: socket.socket, address: str) -> None:
        limit, most = self.kind_of(address)
        network = network_of(address)
        limits = Counter(each for each, _ in self.handshakes.values())
        networks = Counter(each for _, each in self.handshakes.values())
        too_near = self.of_network is not None and networks[network] >= self.of_network
        if too_near or limits[limit] >= most:
            self.on_refusal("address-handshakes" if too_near else limit)
            accepted.close()
            return
        task = asyncio.create_task(self._shake_hands(accepted), name="handshake")
        self.handshakes[task] = limit, network
        task.add_done_callback(partial(self._ended, accepted))

    def _ended(self, accepted: socket.socket, task: asyncio.Task[None]) -> None:
        del self.handshakes[task]
        if task.cancelled():  # also before its first step, which no `except` of its own would see
            accepted.close()

    async def _shake_hands(self, accepted: socket.socket) -> None:
        loop, tls = asyncio.get_running_loop(), self.tls()
        try:
            if tls is None:
                await loop.connect_accepted_socket(self.make_protocol, accepted)
            else:
                await loop.connect_accepted_socket(
                    self.make_protocol,
                    accepted,
                    ssl=tls,
                    ssl_handshake_timeout=self.seconds,
                    ssl_shutdown_timeout=1.0,
                )
        except (OSError, TimeoutError):
            self.on_refusal("handshake-seconds")
            accepted.close()
