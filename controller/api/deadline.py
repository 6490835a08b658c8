"""HTTP as uvicorn speaks it, for those who get to the point: who sends a request by drops, or holds many, is cut off.

Used by `controller.api.serving` for both sockets. Half a request costs its sender little and us a descriptor, of which
minions need one each.
"""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

REQUEST_SECONDS = 10.0
"""Until a request has to be there whole, counted from the connection or from the answer before."""
MOST_CONNECTIONS = 512


class DeadlineProtocol(H11Protocol):
    """One connection."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take it, unless there are too many."""
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
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

    def _set_deadline(self) -> None:
        self._drop_deadline()
        self._deadline = self.loop.call_later(REQUEST_SECONDS, self._look)

    def _drop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _look(self) -> None:
        """Cut off who has not said all; an answer that takes us long is not the sender's fault."""
        state: Any = self.conn.their_state
        if state in (h11.IDLE, h11.SEND_BODY):
            self.transport.abort()
