"""Requests that come to a controller which waits, passed on to the one that leads, and its answers.

Used by `controller.cluster.standby`, on the unix socket and on the HTTP port. Decides nothing: the leader does, and is
told who asks (`controller.cluster.asker`). What is shown is what the leader shows.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator

import httpx
import msgspec
from litestar.enums import ScopeType
from litestar.types import HTTPScope, Message, Receive, Scope, Send

from controller.access.principals import NOBODY
from controller.api.encoding import LINES
from controller.api.request_ids import HEADER as REQUEST_ID
from controller.cluster import asker
from controller.cluster.pool_port import ADMIN, PORT
from controller.config.limits import ClusterLimits
from controller.schema.errors import ErrorView
from controller.store.leadership import Leader, LeaderAddress

_NOT_PASSED_ON = frozenset(
    (b"connection", b"content-length", b"expect", b"host", b"keep-alive", b"te", b"transfer-encoding", b"upgrade")
)
"""Headers of one connection, and those that a request gets anew."""
_END: Message = {"type": "http.response.body", "body": b"", "more_body": False}
_AGAIN = "ask again in some seconds: another controller takes over within 5 s"


class Forwarding:
    """The way to the leader, for all requests.

    Args:
        tls: this controller's end.
        limits: of connections to the leader.
    """

    def __init__(self, tls: ssl.SSLContext, limits: ClusterLimits) -> None:
        transport = httpx.AsyncHTTPTransport(
            verify=tls,
            trust_env=False,
            limits=httpx.Limits(max_connections=limits.controllers, max_keepalive_connections=0),
        )
        timeout = httpx.Timeout(None, connect=limits.dial_seconds)
        self._http = httpx.AsyncClient(transport=transport, timeout=timeout, trust_env=False)
        self._leader = Leader(holder="")
        self._left = asyncio.Event()

    @property
    def leader(self) -> Leader:
        """Who leads, as far as is known."""
        return self._leader

    def follow(self, leader: Leader) -> None:
        """Pass requests on to this controller from now on; those that another one has are over."""
        if leader != self._leader:
            self._left.set()
            self._left = asyncio.Event()
            self._leader = leader

    async def close(self) -> None:
        """End all."""
        self._left.set()
        await self._http.aclose()

    async def answer(self, scope: HTTPScope, receive: Receive, send: Send, prefix: str) -> None:
        """Pass one request on, to the leader's application with this prefix."""
        leader, left = self._leader, self._left
        asked = _Asked(receive, has_body=scope["method"] not in ("GET", "HEAD"))
        if leader.address is None:
            await _refuse(send, f"{leader.holder or 'no controller'} does not serve yet, and this one waits")
            return
        request = self._request(scope, asked, prefix, leader.address)
        passing = asyncio.create_task(self._pass_on(request, asked, send))
        gone, over = asyncio.create_task(asked.gone()), asyncio.create_task(left.wait())
        try:
            await asyncio.wait((passing, gone, over), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (passing, gone, over):
                task.cancel()
            outcome, *_ = await asyncio.gather(passing, gone, over, return_exceptions=True)
        match outcome:
            case httpx.TransportError() if not isinstance(outcome.__cause__, _Gone):
                why = f"{leader.holder}, which leads, does not answer: {outcome or type(outcome).__name__}"
                await asked.break_off(send, why)
            case asyncio.CancelledError() if left.is_set():
                await asked.break_off(send, f"{leader.holder} leads no more")
            case None | asyncio.CancelledError() | httpx.TransportError() | _Gone():
                return
            case _:
                raise outcome

    def _request(self, scope: HTTPScope, asked: _Asked, prefix: str, leader: LeaderAddress) -> httpx.Request:
        host = f"[{leader.host}]" if ":" in leader.host else leader.host
        query = b"?" + scope["query_string"] if scope["query_string"] else b""
        url = httpx.URL(
            scheme="https",
            host=host,
            port=leader.pool_port,
            raw_path=prefix.encode("ascii") + scope["raw_path"] + query,
        )
        content = asked.body() if asked.has_body else None
        return self._http.build_request(scope["method"], url, headers=_headers(scope, prefix), content=content)

    async def _pass_on(self, request: httpx.Request, asked: _Asked, send: Send) -> None:
        response = await self._http.send(request, stream=True)
        async with contextlib.aclosing(response):
            headers = [(name.lower(), value) for name, value in response.headers.raw]
            kept = [(name, value) for name, value in headers if name not in _NOT_PASSED_ON]
            asked.answered = response.headers.get("content-type", "unknown")
            await send({"type": "http.response.start", "status": response.status_code, "headers": kept})
            async for piece in response.aiter_raw():
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send(_END)


class ForwardedSocket:
    """The application of the unix socket.

    Args:
        forwarding: the way to the leader.
    """

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == ScopeType.HTTP:
            await self._forwarding.answer(scope, receive, send, ADMIN)


class ForwardedPort:
    """The application of the API's port.

    Args:
        forwarding: the way to the leader.
    """

    def __init__(self, forwarding: Forwarding) -> None:
        self._forwarding = forwarding

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] == ScopeType.HTTP:
            await self._forwarding.answer(scope, receive, send, PORT)


def _headers(scope: HTTPScope, prefix: str) -> list[tuple[bytes, bytes]]:
    """Those of the request, with who asks and from where, and under its id."""
    peer = scope["state"].get("peer", NOBODY)
    left_out = (*_NOT_PASSED_ON, asker.HEADER, *([REQUEST_ID] if peer.request else []))
    kept = [(name, value) for name, value in scope["headers"] if name not in left_out]
    if peer.request:
        kept.append((REQUEST_ID, peer.request.encode("ascii")))
    if prefix in (ADMIN, PORT):
        kept.append((asker.HEADER, asker.header_of(peer)))
    return kept


class _Gone(Exception):
    """Who asked has gone in the middle of its request."""


class _Asked:
    """What an asker sends, and what it has got."""

    def __init__(self, receive: Receive, *, has_body: bool) -> None:
        self._receive = receive
        self.has_body = has_body
        self._read = asyncio.Event()
        """The body has been read: what comes next is the end of the connection."""
        if not has_body:
            self._read.set()
        self.answered = ""
        """Type of the answer that has begun."""

    async def body(self) -> AsyncIterator[bytes]:
        """The body of the request, as it comes."""
        try:
            while True:
                message = await self._receive()
                if message["type"] != "http.request":
                    raise _Gone
                if piece := message.get("body", b""):
                    yield piece
                if not message.get("more_body", False):
                    return
        finally:
            self._read.set()

    async def gone(self) -> None:
        """Wait until it has gone."""
        await self._read.wait()
        while (await self._receive())["type"] != "http.disconnect":
            pass

    async def break_off(self, send: Send, why: str) -> None:
        """Tell it that there is no answer, or not the rest of it: a stream of lines says so in its last one."""
        if not self.answered:
            await _refuse(send, why)
        elif self.answered.startswith(LINES):
            await send({"type": "http.response.body", "body": _refusal(why) + b"\n", "more_body": True})
            await send(_END)
        elif self.answered.startswith("text/event-stream"):
            await send(_END)  # its reader asks again
        # Else the connection is closed in the middle of the answer, as nothing else would say that it is not whole.


def _refusal(why: str) -> bytes:
    return msgspec.json.encode(ErrorView(error="unavailable", message=why, hint=_AGAIN))


async def _refuse(send: Send, why: str) -> None:
    body = _refusal(why)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode("ascii"))]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": True})
    await send(_END)
