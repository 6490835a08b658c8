"""Events at `/salt`: read as Salt's `/events` has them, sent by `/hook`; and counters of requests (`/stats`)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final, cast

from litestar import Response, get, post
from litestar.response import Stream
from litestar.types import ASGIApp, Message, Receive, Scope, Send

from controller.access.decision import Decision
from controller.access.principals import Principal
from controller.api import encoding, event_stream
from controller.api.asked import AdminRequest, access_of, principal_of, service_of
from controller.api.calls import require_runner
from controller.forges import webhooks
from controller.salt_api import bodies
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError
from controller.schema.events import EventView
from controller.schema.requests import EventsQuery, RunnerQuestion
from controller.schema.runners import RunnerReturn

_TAG = "salt/netapi/hook"
_LONGEST_TAG = 500
_REFUSED = 400
"""Statuses from this one on."""
_RETRY = b"retry: 400\n\n"
_SECRET_WORDS = ("authorization", "cookie", "token", "secret", "signature", "password", "api-key")
"""In names of headers whose values are not told to who reads events."""


@dataclass(slots=True, kw_only=True)
class Stats:
    """Counters of requests since the controller began to serve."""

    began: float
    """Seconds since the epoch."""
    requests: int = 0
    now: int = 0
    refused: int = 0
    """With a status of 400 or more."""


def counting(stats: Stats) -> Callable[[ASGIApp], ASGIApp]:
    """A middleware that counts requests."""

    def around(app: ASGIApp) -> ASGIApp:
        async def count(scope: Scope, receive: Receive, send: Send) -> None:
            async def count_status(message: Message) -> None:
                if message["type"] == "http.response.start" and message["status"] >= _REFUSED:
                    stats.refused += 1
                await send(message)

            stats.requests += 1
            stats.now += 1
            try:
                await app(scope, receive, count_status)
            finally:
                stats.now -= 1

        return count

    return around


@get("/stats")
async def stats(request: AdminRequest) -> Response[bytes]:
    """Counters of requests, named as those of CherryPy."""
    found, now = cast(Stats, request.app.state.stats), time.time()
    told = {
        "Enabled": True,
        "Current Requests": found.now,
        "Total Requests": found.requests,
        "Start Time": found.began,
        "Current Time": now,
        "Uptime": now - found.began,
        "Refused Requests": found.refused,
        "Requests": {},
    }
    return await bodies.answer(request, {"CherryPy Applications": told})


@get("/events")
async def events(request: AdminRequest) -> Stream:
    """Server-Sent Events, each with Salt's `tag` and `data`."""
    query = encoding.query_of(_of_stream(request), EventsQuery)
    pieces = event_stream.counted(request, service_of(request).events(query))
    return event_stream.answer(pieces, _RETRY, salt_frame)


def _of_stream(request: AdminRequest) -> dict[str, Any]:
    """What a reader chooses; Salt's addresses have a token alone."""
    return {name: value for name, value in request.query_params.items() if name in ("tag", "match")}


def salt_frame(view: EventView) -> bytes:
    """An event as rest_cherrypy sends it."""
    tag = view.tag.replace("\r", " ").replace("\n", " ")
    return b"tag: " + tag.encode(errors="replace") + b"\ndata: " + encoding.encode(salt_event(view)) + b"\n\n"


def salt_event(view: EventView) -> dict[str, Any]:
    """The same as a value: `{"tag": ..., "data": {"_stamp": ..., ...}}`."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(view.time)) + f".{int(view.time % 1 * 1e6):06}"
    return {"tag": view.tag, "data": {"_stamp": stamp, **view.data}}


@post(["/hook", "/hook/{tag:path}"], status_code=200)
async def hook(request: AdminRequest) -> Response[bytes]:
    """Publish an event with what was posted: for who may call the runner `event.send`, and for signed webhooks."""
    rest = str(request.path_params.get("tag") or "").strip("/")
    tag = f"{_TAG}/{rest}" if rest else _TAG
    if len(tag) > _LONGEST_TAG:
        raise ServiceError("bad-request", f"a tag has up to {_LONGEST_TAG} characters")
    body = await request.body()
    principal, signed = principal_of(request), False
    if not principal.name:
        principal, signed = await _signer(request, tag, body), True
    data = {
        "body": "" if _is_form(request) else body.decode(errors="replace"),
        "post": await bodies.data_of(request) or {},
        "headers": {name: value for name, value in request.headers.items() if not _is_secret(name)},
    }
    question = RunnerQuestion(fun="event.send", args=(tag,), kwargs={"data": data})
    if not signed:
        require_runner(access_of(request), principal, question)
    return await bodies.answer(request, {"success": await _sent(service_of(request), question, principal.name)})


async def _signer(request: AdminRequest, tag: str, body: bytes) -> Principal:
    """Whoever knows `hook_secret`, as on the controller's `/hook`; ServiceError for who does not."""
    secret = cast(bytes, request.app.state.secret)
    headers = dict(request.headers)
    hashing = request.app.state.hashing
    known = asyncio.get_running_loop().run_in_executor(hashing, webhooks.verify, secret, headers, body)
    if await known and secret:
        sender = replace(principal_of(request), name="webhook", method="hook_secret")
        decision = Decision(allowed=True, why="signed with hook_secret")
        access_of(request).audit.keep(sender, "send an event", {"tag": tag}, decision)
        return sender
    hint = "send X-Auth-Token, or sign it with hook_secret (docs/salt-api.md)"
    raise ServiceError("unauthenticated", "the request shows neither a token nor hook_secret", hint=hint)


def _is_form(request: AdminRequest) -> bool:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower() == bodies.FORM


def _is_secret(name: str) -> bool:
    return any(word in name.lower() for word in _SECRET_WORDS)


async def _sent(service: ControllerApi, question: RunnerQuestion, user: str) -> bool:
    items = service.runner(question, user=user)
    try:
        async for item in items:
            if isinstance(item, RunnerReturn):
                return item.success and bool(item.value)
    finally:
        await encoding.close(items)
    return False


ROUTES: Final = (stats, events, hook)
