"""Logins, and everything that becomes lowstate: `/`, `/run`, `/minions`, `/jobs`, `/keys`."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

import msgspec
from litestar import Response, get, post

from controller.access.decision import Decision
from controller.access.perms import permissions_of
from controller.access.principals import Principal
from controller.api import encoding
from controller.api.asked import AdminRequest, access_of, principal_of
from controller.api.credentials import is_own_page
from controller.api.permissions import failures_counted
from controller.config.limits import SaltApiLimits
from controller.salt_api import bodies, credentials
from controller.salt_api.clients import LowClients
from controller.salt_api.lowstate import CLIENTS
from controller.schema.errors import ServiceError

_ACCEPTED = 202
_NOT_BUILT = 501


@get("/")
async def welcome(request: AdminRequest) -> Response[bytes]:
    """What there is."""
    return await bodies.answer(request, {"return": "Welcome", "clients": list(CLIENTS)})


@post("/", status_code=200)
async def low(request: AdminRequest) -> Response[bytes]:
    """Chunks of lowstate, as who shows a token."""
    return await _returned(request, _lowstate(request, await bodies.data_of(request)))


@post("/run", status_code=200)
async def run(request: AdminRequest) -> Response[bytes]:
    """The same without a session: each chunk has credentials."""
    bodies.form_of_answer(request)
    chunks = _lowstate(request, await bodies.data_of(request))
    asked = [(each, await credentials.asker_of(request, access_of(request), each)) for each in chunks]
    return await bodies.answer(request, {"return": await _until_gone(request, asked)})


@get("/login")
async def login_page(request: AdminRequest) -> Response[bytes]:
    """How to log in."""
    answer = await bodies.answer(request, {"status": None, "return": "Please log in"})
    answer.headers["www-authenticate"] = "Session"
    return answer


@post("/login", status_code=200)
async def log_in(request: AdminRequest) -> Response[bytes]:
    """A token for a password; a browser gets it as a cookie, too."""
    bodies.form_of_answer(request)
    token, view = await _logged_in(request, _one(request, await bodies.data_of(request)))
    answer = await bodies.answer(request, {"return": [view]})
    answer.headers["x-auth-token"] = token
    if is_own_page(request):
        seconds = int(view["expire"] - time.time()) if view["expire"] else 0
        answer.set_cookie(credentials.session_cookie(token, max(seconds, 1)))
    return answer


@post("/token", status_code=200)
async def make_token(request: AdminRequest) -> Response[bytes]:
    """A token for each of the credentials, for `/run`."""
    bodies.form_of_answer(request)
    found = []
    for creds in _lowstate(request, await bodies.data_of(request)):
        if not {"username", "password", "eauth"} <= set(creds):
            raise ServiceError("bad-request", 'Require "username", "password", and "eauth" params')
        _, view = await _logged_in(request, creds)
        found.append({"name": view["user"], **{key: view[key] for key in ("start", "token", "expire", "eauth")}})
    return await bodies.answer(request, found)


@post("/logout", status_code=200)
async def log_out(request: AdminRequest) -> Response[bytes]:
    """Take the token that is shown back."""
    owner, access = principal_of(request), access_of(request)
    access.audit.keep(owner, "log out", {"token": owner.token}, Decision(allowed=True, why="its own"))
    if owner.token:
        access.tokens.revoke([owner.token])
    answer = await bodies.answer(request, {"return": "Your token has been cleared"})
    answer.set_cookie(credentials.session_cookie("", 0))
    return answer


@get(["/minions", "/minions/{mid:str}"])
async def minions(request: AdminRequest) -> Response[bytes]:
    """Grains of all minions, or of those that a glob matches."""
    target = request.path_params.get("mid") or "*"
    return await _returned(request, [{"client": "local", "tgt": target, "fun": "grains.items"}])


@post("/minions", status_code=_ACCEPTED)
async def begin(request: AdminRequest) -> Response[bytes]:
    """Begin jobs, and wait for nothing."""
    bodies.form_of_answer(request)
    chunks = [{**each, "client": "local_async"} for each in _lowstate(request, await bodies.data_of(request))]
    begun = await _until_gone(request, _as_asker(request, chunks))
    links = [{"href": f"/jobs/{each['jid']}"} for each in begun if each]
    return await bodies.answer(request, {"return": begun, "_links": {"jobs": links}}, _ACCEPTED)


@get("/jobs")
async def jobs(request: AdminRequest) -> Response[bytes]:
    """What the job cache has, newest first."""
    return await _returned(request, [{"client": "runner", "fun": "jobs.list_jobs"}])


@get("/jobs/{jid:str}")
async def job(request: AdminRequest) -> Response[bytes]:
    """A job, and what its minions returned."""
    bodies.form_of_answer(request)
    asked = [{"client": "runner", "fun": "jobs.list_job", "jid": str(request.path_params["jid"])}]
    [found] = await _until_gone(request, _as_asker(request, asked))
    info = msgspec.json.decode(found)
    results = info.get("Result") if isinstance(info, Mapping) else None
    shown = {minion: one.get("return") for minion, one in (results or {}).items()}
    return await bodies.answer(request, {"info": [found], "return": [shown]})


@get(["/keys", "/keys/{mid:str}"])
async def keys(request: AdminRequest) -> Response[bytes]:
    """Keys by their states, or the fingerprints of those that a glob matches."""
    bodies.form_of_answer(request)
    named = request.path_params.get("mid")
    asked = {"fun": "key.finger", "match": str(named)} if named else {"fun": "key.list_all"}
    [found] = await _until_gone(request, _as_asker(request, [{"client": "wheel", **asked}]))
    return await bodies.answer(request, {"return": found["data"]["return"]})


@post("/keys", status_code=_NOT_BUILT)
async def make_key(request: AdminRequest) -> Response[bytes]:
    """Salt makes a key pair of a minion here; a minion of Saltern makes its own, and its secret part never travels."""
    text = (
        "key.gen_accept is not built: minions make their keys. An enrolment token accepts one by itself (docs/keys.md)"
    )
    return await bodies.answer(request, {"status": _NOT_BUILT, "return": text}, _NOT_BUILT)


ROUTES: Final = (welcome, low, log_out, minions, begin, jobs, job, keys, make_key)
OPEN_ROUTES: Final = (run, login_page, log_in, make_token)
"""What anybody may send."""


async def _returned(request: AdminRequest, chunks: Sequence[dict[str, Any]]) -> Response[bytes]:
    bodies.form_of_answer(request)
    return await bodies.answer(request, {"return": await _until_gone(request, _as_asker(request, chunks))})


def _as_asker(request: AdminRequest, chunks: Sequence[dict[str, Any]]) -> list[tuple[dict[str, Any], Principal]]:
    return [(each, principal_of(request)) for each in chunks]


def _limits(request: AdminRequest) -> SaltApiLimits:
    return cast(SaltApiLimits, request.app.state.limits)


def _lowstate(request: AdminRequest, data: Any) -> list[dict[str, Any]]:
    return bodies.lowstate_of(data, _limits(request).chunks)


def _one(request: AdminRequest, data: Any) -> Mapping[str, Any]:
    """Credentials: a mapping, or a list with one."""
    found = _lowstate(request, data)
    if len(found) != 1:
        raise ServiceError("bad-request", "a login needs username, password and eauth")
    return found[0]


async def _logged_in(request: AdminRequest, creds: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The token of a login, and what is told of it. ServiceError (`unauthenticated`) for what is not good."""
    access, method = access_of(request), str(creds.get("eauth") or "pam")
    began = time.time()
    if method == "token":
        owner = await credentials.shown_in(request, access, creds)
        token, expires = str(creds.get("password") or ""), owner.expires
    else:
        user, password = str(creds.get("username") or ""), str(creds.get("password") or "")
        try:
            with failures_counted(request, login=True):
                token, record = await access.logins.log_in(principal_of(request), method, user, password)
        except ServiceError as error:
            raise credentials.as_unauthenticated(error) from None
        owner = Principal(name=record.user, groups=frozenset(record.groups), method=record.method, token=record.id)
        began, expires = record.created, record.expires
    perms = permissions_of(owner, access.settings)
    shown = {"token": token, "expire": expires, "start": began, "user": owner.name, "eauth": method}
    return token, {**shown, "perms": perms or {}}


async def _until_gone(request: AdminRequest, chunks: Sequence[tuple[dict[str, Any], Principal]]) -> list[Any]:
    """What is returned; when the asker goes away, nothing is waited for any more."""
    clients = cast(LowClients, request.app.state.clients)
    work: asyncio.Future[list[Any]] = asyncio.ensure_future(clients.run(chunks))
    gone = asyncio.ensure_future(encoding.disconnected(request))
    try:
        await asyncio.wait((work, gone), return_when=asyncio.FIRST_COMPLETED)
        if not work.done():
            raise ServiceError("unavailable", "who asked has gone away")
        return work.result()
    finally:
        for task in (work, gone):
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError, Exception):
                await task
