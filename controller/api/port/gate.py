"""What stands before everything on the API's port: who asks how often, what is said to browsers, and what is mounted.

`/livez` and `/readyz` are answered here; every other path goes to the application that is mounted at the longest prefix
of it. What an application may be asked for is its own affair (`controller.api.permissions`).
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, cast

import structlog
from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Message, Receive, Scope, Send

from controller.access.principals import NOBODY, Principal
from controller.access.rates import Rates, network_of
from controller.api import encoding
from controller.config.limits import ApiPortLimits
from controller.schema.errors import ServiceError
from options.limits import CountRefusal

log = structlog.get_logger("saltern.api")

IsReady: TypeAlias = Callable[[], Awaitable[str]]
"""Why the controller cannot answer now; empty when it can."""
_READY_SECONDS = 2.0
"""After which a look takes too long to be ready."""
READY_FOR = 1.0
"""Seconds for which a look holds: whoever reaches the port may ask, and as often as they like."""
_READER_AGAIN = 10.0
"""Seconds after which who finds no room for a stream of events may ask again."""
_MINUTE = 60.0
_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer"))
_PRIVATE = ("/api/", "/salt")
"""Beginnings of paths whose answers nobody keeps: a cache knows no X-Auth-Token, and cookies neither."""
_TLS_ALONE = (b"strict-transport-security", b"max-age=31536000")


class RequestPace:
    """How often addresses and principals ask.

    Args:
        limits: so often they may.
        on_refusal: see `options.limits.CountRefusal`.
        clock: seconds, which do not go back.
    """

    def __init__(
        self, limits: ApiPortLimits, on_refusal: CountRefusal, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._limits = limits
        self._clock = clock
        self._on_refusal = on_refusal
        self.addresses = self._rates(limits.address_requests_per_second, limits.address_burst)
        self.principals = self._rates(limits.principal_requests_per_second, limits.principal_burst)
        self.readers: Counter[str] = Counter()
        """Streams of events that each principal reads."""
        self.failures = self._rates(limits.failures_per_minute / _MINUTE, limits.failures_per_minute)

    def _rates(self, per_second: float, burst: float) -> Rates:
        return Rates(per_second, burst, self._limits.addresses, self._clock)

    def ask(self, network: str) -> None:
        """A request comes from an address; ServiceError when there were too many."""
        if wait := self.failures.wait(network):
            self._refuse("failures-per-minute", "too much was shown that is not good", wait)
        if wait := self.addresses.take(network):
            self._refuse("address-requests-per-second", "this address asks too often", wait)

    def ask_as(self, principal: Principal) -> None:
        """The same of somebody who is known."""
        if wait := self.principals.take(principal.who):
            self._refuse("principal-requests-per-second", f"{principal.name} asks too often", wait)

    def require_room_to_read(self, principal: Principal) -> None:
        """ServiceError when there is no room for one more stream of events."""
        if self.readers[principal.who] >= self._limits.principal_event_readers:
            limit, text = "principal-event-readers", f"{principal.name} reads events so many times already"
        elif self.readers.total() >= self._limits.event_readers:
            limit, text = "event-readers", "other readers have all the room there is"
        else:
            return
        self._on_refusal(limit)
        hint = f"end one of them, or raise limits: api_port: {limit.replace('-', '_')}"
        raise ServiceError("too-many-requests", text, hint=hint, retry_after=_READER_AGAIN)

    def begin_reading(self, principal: Principal) -> None:
        """A stream of events begins; ServiceError when others that were asked for with it have taken the room."""
        self.require_room_to_read(principal)
        self.readers[principal.who] += 1

    def end_reading(self, principal: Principal) -> None:
        """One of them has ended."""
        self.readers[principal.who] -= 1
        self.readers += Counter()  # leaves out who reads nothing any more

    def _refuse(self, limit: str, text: str, wait: float) -> None:
        self._on_refusal(limit)
        hint = "ask again after Retry-After, or raise limits: api_port"
        raise ServiceError("too-many-requests", text, hint=hint, retry_after=max(wait, 0.001))


@dataclass(frozen=True, slots=True, kw_only=True)
class CountedRequest:
    """What the guard of the routes tells of a request (`Counted`)."""

    pace: RequestPace
    network: str

    def failed(self) -> None:
        """See `Counted`."""
        self.pace.failures.take(self.network)

    def require_room_to_read(self, principal: Principal) -> None:
        """See `Counted`."""
        self.pace.require_room_to_read(principal)

    def begin_reading(self, principal: Principal) -> None:
        """See `Counted`."""
        self.pace.begin_reading(principal)

    def end_reading(self, principal: Principal) -> None:
        """See `Counted`."""
        self.pace.end_reading(principal)

    def asked_by(self, principal: Principal) -> None:
        """See `Counted`."""
        self.pace.ask_as(principal)


class PortGate:
    """The application of the port.

    Args:
        mounts: prefix of paths -> what answers them; that at `/` answers the rest. `/salt` and `/` are for salt-api's
            shapes and for the dashboard.
        pace: how often addresses and principals may ask.
        is_ready: says why the controller cannot answer.
    """

    def __init__(self, mounts: Mapping[str, ASGIApp], pace: RequestPace, is_ready: IsReady) -> None:
        self._mounts = sorted(mounts.items(), key=lambda each: len(each[0]), reverse=True)
        self._pace = pace
        self._is_ready = is_ready
        self._looking = asyncio.Lock()
        self._looked_at = float("-inf")
        self._unready = ""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != ScopeType.HTTP:
            return
        address = str((scope.get("client") or ("", 0))[0])
        peer = cast(Principal, scope["state"].get("peer", NOBODY))
        scope["state"]["peer"] = replace(peer, address=peer.address or address)
        network = network_of(peer.address or address)
        scope["state"]["counted"] = CountedRequest(pace=self._pace, network=network)
        answer = _Answer(scope, send)
        try:
            match scope["path"]:
                case "/livez":
                    await answer.text(200, b"ok\n")
                case "/readyz":
                    await self._tell_ready(answer)
                case _:
                    await self._answer(scope, receive, answer, network)
        finally:
            answer.log()

    async def _answer(self, scope: HTTPScope, receive: Receive, answer: _Answer, network: str) -> None:
        try:
            self._pace.ask(network)
            app = self._app_at(scope["path"])
        except ServiceError as error:
            await encoding.refusal(error).to_asgi_response(None, cast(Any, None))(scope, receive, answer.send)
            return
        await app(scope, receive, answer.send)

    def _app_at(self, path: str) -> ASGIApp:
        for prefix, app in self._mounts:
            if path == prefix or path.startswith(prefix.rstrip("/") + "/"):
                return app
        raise ServiceError("not-found", "there is nothing here", hint="the API is at /api/v1")

    async def _tell_ready(self, answer: _Answer) -> None:
        """Whether a load balancer may send requests here."""
        async with self._looking:
            if time.monotonic() >= self._looked_at + READY_FOR:
                try:
                    async with asyncio.timeout(_READY_SECONDS):
                        self._unready = await self._is_ready()
                except TimeoutError:
                    self._unready = "the database does not answer"
                self._looked_at = time.monotonic()
            why = self._unready
        await answer.text(503 if why else 200, f"{why or 'ok'}\n".encode())


class _Answer:
    """An answer on its way: headers that all have, and a line of the log at its end."""

    def __init__(self, scope: HTTPScope, send: Send) -> None:
        self._scope = scope
        self._send = send
        self._began = time.monotonic()
        self._status = 0

    async def send(self, message: Message) -> None:
        """Send a part, with the headers."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            message = {**message, "headers": self._with_headers(list(message.get("headers", [])))}
        await self._send(message)

    def _with_headers(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        names = {name.lower() for name, _ in headers}
        more = [*_HEADERS, *([_TLS_ALONE] if self._scope["scheme"] == "https" else [])]
        if self._scope["path"].startswith(_PRIVATE) and b"cache-control" not in names:
            more.append((b"cache-control", b"no-store"))
        return headers + [(name, value) for name, value in more if name not in names]

    async def text(self, status: int, body: bytes) -> None:
        """All of it at once."""
        headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode("ascii"))]
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": body, "more_body": False})

    def log(self) -> None:
        """Say what was asked; what only looks, where the log is detailed."""
        state = self._scope["state"]
        peer = cast(Principal, state["peer"])
        quiet = self._scope["method"] in ("GET", "HEAD") and self._status < 400
        (log.debug if quiet else log.info)(
            "request",
            method=self._scope["method"],
            path=self._scope["path"][:200],
            status=self._status,
            user=state.get("user", ""),
            address=peer.address,
            request_id=peer.request,
            seconds=round(time.monotonic() - self._began, 4),
        )
