"""Uvicorn's HTTP with a deadline for requests and a limit of connections; beyond them a connection is closed.

Used by `controller.api.serving` for both sockets. Half a request costs its sender little, and the controller a
descriptor, of which minions need one each.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.api.peer_user import peer_user
from options.limits import CountRefusal


class DeadlineProtocol(H11Protocol):
    """One connection; `deadline_protocol` makes the class for a server."""

    max_connections: int
    request_seconds: float
    """Until a request must have arrived completely, counted from the connection or from the answer before."""
    on_refusal: CountRefusal
    max_of_network: int | None
    network_of: Callable[[str], str]
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, unless there are too many. Requests find the peer's user as `peer` in their state."""
        super().connection_made(transport)
        self.app_state = {**self.app_state, "peer": peer_user(transport.get_extra_info("socket"))}
        if len(self.connections) > self.max_connections:
            self.on_refusal("connections")
            transport.abort()
        elif self.max_of_network is not None and self._of_network() > self.max_of_network:
            self.on_refusal("address-connections")
            transport.abort()
        else:
            self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._drop_deadline()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The next request may come."""
        self._set_deadline()
        super().on_response_complete()

    def _of_network(self) -> int:
        """Connections from where this one is from."""
        mine = self.network_of(self.client[0]) if self.client else ""
        clients = [each.client for each in self.connections if isinstance(each, DeadlineProtocol)]
        return sum(client is not None and self.network_of(client[0]) == mine for client in clients)

    def _set_deadline(self) -> None:
        self._drop_deadline()
        self._deadline = self.loop.call_later(self.request_seconds, self._look)

    def _drop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look(self) -> None:
        """Close the connection when its request is incomplete; a slow answer of the controller does not count."""
        state: Any = self.conn.their_state
        if state is h11.SEND_BODY or (state is h11.IDLE and self.conn.trailing_data[0]):
            self.on_refusal("request-seconds")
        if state in (h11.IDLE, h11.SEND_BODY):
            self.transport.abort()


def deadline_protocol(
    max_connections: int,
    request_seconds: float,
    on_refusal: CountRefusal,
    max_of_network: int | None = None,
    network_of: Callable[[str], str] = str,
) -> type[DeadlineProtocol]:
    """The protocol for one server.

    Args:
        max_connections: at the same time.
        request_seconds: until a request must have arrived completely.
        on_refusal: takes `connections`, `address-connections` or `request-seconds`.
        max_of_network: from the same address, as `network_of` has it; None: as many as there may be.
        network_of: what counts as one address.
    """
    limits = {
        "max_connections": max_connections,
        "request_seconds": request_seconds,
        "on_refusal": staticmethod(on_refusal),
        "max_of_network": max_of_network,
        "network_of": staticmethod(network_of),
    }
    return type("LimitedProtocol", (DeadlineProtocol,), limits)
