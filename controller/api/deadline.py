"""Uvicorn's HTTP with strict framing, a deadline for requests and a limit of connections; beyond them it is closed.

Used by `controller.api.serving` for both sockets. Half a request costs its sender little, and the controller a
descriptor, of which minions need one each. A request that a proxy may end elsewhere than the controller does could
bring a second one in the name of whom the proxy asks for next: it is refused (RFC 9112, 11.2).
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from controller.api.peer_user import peer_user
from options.limits import CountRefusal

_END_OF_HEAD = re.compile(rb"\n\r?\n")
"""As h11 finds it."""
_LOOSE_LINE = re.compile(rb"(?<!\r)\n|\r(?!\n)|\n[ \t]")
"""A line that a bare LF or CR ends, and one that goes on on the next (obs-fold)."""


class StrictConnection(h11.Connection):
    """What h11 takes of a request, without what implementations read differently.

    Source: RFC 9112, 2.2 (lines), 5.2 (obs-fold), 6.1, 6.3 (Transfer-Encoding beside a length, or of HTTP/1.0).
    h11 refuses the rest: differing lengths, spaces before a colon, codings that it does not know, several hosts.
    """

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """As h11; RemoteProtocolError for what may be read differently, too."""
        if self.their_state is h11.IDLE:
            _refuse_loose_lines(self.trailing_data[0])
        event = super().next_event()
        if isinstance(event, h11.Request):
            _refuse_two_framings(event)
        return event


def _refuse_loose_lines(received: bytes) -> None:
    end = _END_OF_HEAD.search(received)
    if end is not None and _LOOSE_LINE.search(received, 0, end.end()):
        raise h11.RemoteProtocolError("a line of the head ends without CRLF, or goes on on the next")


def _refuse_two_framings(request: h11.Request) -> None:
    names = {name for name, _ in request.headers}
    if b"transfer-encoding" in names and (b"content-length" in names or request.http_version != b"1.1"):
        raise h11.RemoteProtocolError("Transfer-Encoding beside Content-Length, or in a request of HTTP/1.0")


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
        self.conn = StrictConnection(h11.SERVER)
        self.app_state = {**self.app_state, "peer": peer_user(transport.get_extra_info("socket"))}
        if len(self.connections) > self.max_connections:
            self.on_refusal("connections")
            transport.abort()
        elif self.max_of_network is not None and self._of_network() > self.max_of_network:
            self.on_refusal("address-connections")
            transport.abort()
        else:
            self._set_deadline()

    def data_received(self, data: bytes) -> None:
        """Read on, unless it was refused: TLS may still have something that was sent before."""
        if not self.transport.is_closing():
            super().data_received(data)

    def connection_lost(self, exc: Exception | None) -> None:
        """It has gone."""
        self._drop_deadline()
        super().connection_lost(exc)

    def on_response_complete(self) -> None:
        """The next request may come."""
        self._set_deadline()
        super().on_response_complete()

    def send_400_response(self, msg: str) -> None:
        """Refuse what cannot be read, and close; where an answer has begun, the end of the connection says it."""
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            super().send_400_response(msg)
        else:
            self.transport.abort()

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
