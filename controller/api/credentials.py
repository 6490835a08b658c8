"""Who asks, by what a request shows: a token in `Authorization`, the cookie of a session, or the user of the socket.

Called by `permissions` before anything else is done for a request.
"""

from __future__ import annotations

from typing import Any, TypeAlias, cast
from urllib.parse import urlsplit

from litestar.connection import ASGIConnection

from controller.access.access import Access
from controller.access.principals import NOBODY, Principal
from controller.schema.errors import ServiceError

_Connection: TypeAlias = ASGIConnection[Any, Any, Any, Any]

COOKIE = "__Host-saltern-session"
CSRF_HEADER = "x-csrf-token"
_SAFE = ("GET", "HEAD", "OPTIONS")
"""Methods that change nothing (RFC 9110, 9.2.1)."""


def session_cookie(connection: _Connection) -> str:
    """The cookie of a session; empty when none is shown."""
    return connection.cookies.get(COOKIE, "")


async def who_asks(connection: _Connection, access: Access) -> Principal:
    """The principal of a request; nobody, when nothing is shown over the network. ServiceError when it is not good.

    A token counts before a cookie: a browser adds cookies by itself, and a header is added by who means it.
    """
    peer = cast(Principal, connection.scope["state"].get("peer", NOBODY))
    shown = connection.headers.get("authorization", "")
    if shown:
        scheme, _, token = shown.partition(" ")
        if scheme.lower() != "bearer" or not token.strip():
            if peer.name:  # the kernel says who it is
                return peer
            raise ServiceError("unauthenticated", "Authorization must be `Bearer TOKEN`")
        return await access.holder(peer, token.strip())
    if cookie := session_cookie(connection):
        method = str(connection.scope.get("method", ""))
        if method in _SAFE:
            return access.session(peer, cookie, None)
        if not is_own_page(connection):
            raise ServiceError("forbidden", "a page of another site began this request")
        return access.session(peer, cookie, connection.headers.get(CSRF_HEADER, ""))
    return peer


def is_own_page(connection: _Connection) -> bool:
    """Whether a browser says nothing else of where the request was begun (Fetch: `Origin`, `Sec-Fetch-Site`)."""
    if connection.headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = connection.headers.get("origin", "")
    return not origin or urlsplit(origin).netloc.lower() == connection.headers.get("host", "").lower()
