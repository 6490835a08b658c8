"""An id for each request: in the answer, in the log and in the audit log. Put around every application of the API."""

from __future__ import annotations

import re
import secrets
from dataclasses import replace
from typing import cast

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from controller.access.principals import NOBODY, Principal

HEADER = b"x-request-id"
_SANE = re.compile(rb"[A-Za-z0-9._-]{8,64}")
"""What is taken from a client: it goes into logs."""


class RequestIds:
    """An application whose requests have ids: the client's, where it sends a sane one, or a new one.

    Args:
        app: what answers.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != ScopeType.HTTP:
            return
        peer = cast(Principal, scope["state"].get("peer", NOBODY))
        request = peer.request or request_id(scope)  # the port has given it one already
        scope["state"]["peer"] = replace(peer, request=request)

        async def send_with_id(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [each for each in message.get("headers", []) if each[0].lower() != HEADER]
                message = {**message, "headers": [*kept, (HEADER, request.encode("ascii"))]}
            await send(message)

        await self._app(scope, receive, send_with_id)


def request_id(scope: HTTPScope) -> str:
    """The id that a client sent, or a new one."""
    sent = next((value for name, value in scope["headers"] if name == HEADER), b"")
    return sent.decode("ascii") if _SANE.fullmatch(sent) else secrets.token_hex(16)
