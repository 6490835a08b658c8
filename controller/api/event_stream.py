"""Events as Server-Sent Events (WHATWG HTML, 9.2): on the controller's socket, and with a token on its HTTP port."""

from __future__ import annotations

import asyncio
import contextlib
import hmac
import time
from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias, cast

from litestar import Request
from litestar.response import Stream
from msgspec import structs

from controller.access.principals import Principal
from controller.api import encoding
from controller.api.asked import access_of, principal_of
from controller.api.permissions import Counted
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError
from controller.schema.events import EventView
from controller.schema.requests import EventsQuery
from options.limits import CountRefusal

HEARTBEAT_SECONDS = 15.0
"""Of silence, after which a comment is sent: proxies close what is silent for long, and who is gone is noticed."""
ALLOWED_FOR = 1.0
"""Seconds for which a reader may go on until it is looked again whether it may."""
Frame: TypeAlias = Callable[[EventView], bytes]
"""Makes the bytes of an event in a stream."""
_NONE = object()
"""In place of an event when there are no more."""


def query_of(request: Request[Any, Any, Any]) -> EventsQuery:
    """What a reader asks for. `Last-Event-ID` says where it goes on. ServiceError for what is no question."""
    return going_on(request, encoding.query_of(request.query_params, EventsQuery))


def going_on(request: Request[Any, Any, Any], query: EventsQuery) -> EventsQuery:
    """What a reader asks for, from the event on that `Last-Event-ID` names where there is one."""
    last = request.headers.get("last-event-id", "")
    return encoding.query_of({**structs.asdict(query), "after": last}, EventsQuery) if last else query


def answer(pieces: AsyncIterator[Sequence[EventView]], opening: bytes = b":\n\n", frame: Frame | None = None) -> Stream:
    """A stream of events whose ids a reader sends back as `Last-Event-ID`.

    Args:
        pieces: the events.
        opening: what is sent at once.
        frame: makes the bytes of an event; None: as this API has them.
    """
    frames = _frames(pieces, opening, frame or _frame)
    return Stream(frames, media_type="text/event-stream", headers={"cache-control": "no-store"})


def counted(
    request: Request[Any, Any, Any], pieces: AsyncIterator[Sequence[EventView]]
) -> AsyncIterator[Sequence[EventView]]:
    """The pieces of one reader of those that the port has room for; on the socket there are as many as connections.

    They end when the reader would not be let in any more. ServiceError when there is no room (for who asks).
    """
    counts = cast(Counted | None, request.scope["state"].get("counted"))
    reader = principal_of(request)
    pieces = _while_allowed(pieces, partial(access_of(request).still_may, reader, "viewer"))
    if counts is None:
        return pieces
    counts.require_room_to_read(reader)
    return _until_the_end(counts, reader, pieces)


async def _while_allowed(
    pieces: AsyncIterator[Sequence[EventView]], may: Callable[[], bool]
) -> AsyncIterator[Sequence[EventView]]:
    """The pieces, until a token was revoked or a role taken away, which is noticed after a second of events."""
    looked = time.monotonic()
    coming: asyncio.Future[Any] = asyncio.ensure_future(_next(pieces))
    try:
        while True:
            done, _ = await asyncio.wait((coming,), timeout=HEARTBEAT_SECONDS)
            if time.monotonic() >= looked + ALLOWED_FOR:
                if not may():
                    raise ServiceError("unauthenticated", "what showed who reads is not good any more")
                looked = time.monotonic()
            if not done:
                continue
            if (some := coming.result()) is _NONE:
                return
            yield some
            coming = asyncio.ensure_future(_next(pieces))
    finally:
        coming.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await coming
        await encoding.close(pieces)


async def _until_the_end(
    counts: Counted, reader: Principal, pieces: AsyncIterator[Sequence[EventView]]
) -> AsyncIterator[Sequence[EventView]]:
    counts.begin_reading(reader)
    try:
        async for some in pieces:
            yield some
    finally:
        counts.end_reading(reader)
        await encoding.close(pieces)


async def _frames(pieces: AsyncIterator[Sequence[EventView]], opening: bytes, frame: Frame) -> AsyncIterator[bytes]:
    coming: asyncio.Future[Any] = asyncio.ensure_future(_next(pieces))
    try:
        yield opening
        while True:
            done, _ = await asyncio.wait((coming,), timeout=HEARTBEAT_SECONDS)
            if not done:
                yield b":\n\n"
                continue
            views = coming.result()
            if views is _NONE:
                return
            yield b"".join([frame(view) for view in views])
            coming = asyncio.ensure_future(_next(pieces))
    except Exception as error:
        yield b"event: error\ndata: " + encoding.encode(encoding.error_view(error)) + b"\n\n"
    finally:
        coming.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await coming
        await encoding.close(pieces)


def _frame(view: EventView) -> bytes:
    number = f"id: {view.id}\n".encode() if view.id else b""
    return number + b"data: " + encoding.encode(view) + b"\n\n"


async def _next(pieces: AsyncIterator[Sequence[EventView]]) -> Any:
    return await anext(pieces, _NONE)


class RemoteReaders:
    """Who reads events over the network: with the token, and so many at a time.

    Args:
        token: empty for nobody.
        most: readers at the same time.
        on_refusal: see `options.limits.CountRefusal`; the limit is `event-readers`.
    """

    def __init__(self, token: str, most: int, on_refusal: CountRefusal) -> None:
        self._on_refusal = on_refusal
        self._token = token.encode()
        self._most = most
        self._now = 0

    def set_token(self, token: str) -> None:
        """Ask for another one from now on; who reads already goes on."""
        self._token = token.encode()

    async def events(self, request: Request[Any, Any, Any], service: ControllerApi) -> Stream:
        """The stream that is asked for; ServiceError for who may not have it."""
        if not self._token:
            raise ServiceError("not-found", "events are not served here", hint="set events_token")
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token):
            raise ServiceError("forbidden", "the request has not the token", hint="send Authorization: Bearer TOKEN")
        if self._now >= self._most:
            self._on_refusal("event-readers")
            hint = "end one of them, or raise limits: webhook: event_readers"
            raise ServiceError("conflict", f"{self._now} readers have all the room there is", hint=hint)
        return answer(self._counted(service.events(query_of(request))))

    async def _counted(self, pieces: AsyncIterator[Sequence[EventView]]) -> AsyncIterator[Sequence[EventView]]:
        self._now += 1
        try:
            async for views in pieces:
                yield views
        finally:
            self._now -= 1
            await encoding.close(pieces)
