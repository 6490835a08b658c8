"""Who asks at `/salt`: by `X-Auth-Token`, by `Authorization`, or by the cookie that a login set.

rest_cherrypy takes its cookie from whatever page a browser is on. Here it is sent over TLS alone, to this host alone
and never with what another site begins (SameSite=Strict), and a request that names another origin is refused.

Source: `salt_token_tool`, `salt_auth_tool` and `Login` of salt/netapi/rest_cherrypy/app.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias, cast

from litestar.connection import ASGIConnection
from litestar.datastructures import Cookie
from litestar.handlers.base import BaseRouteHandler

from controller.access.access import Access
from controller.access.principals import NOBODY, Principal
from controller.api.credentials import is_own_page
from controller.api.permissions import ANYONE, FUNCTIONS, KNOWN, Counted, failures_counted
from controller.config.access import Role
from controller.schema.errors import ServiceError

_Connection: TypeAlias = ASGIConnection[Any, Any, Any, Any]

PREFIX: Final = "/salt"
COOKIE: Final = "session_id"
NEEDS: Mapping[str, str] = {
    "GET /": ANYONE,
    "POST /": FUNCTIONS,
    "GET /login": ANYONE,
    "POST /login": ANYONE,
    "POST /logout": KNOWN,
    "POST /token": ANYONE,
    "POST /run": ANYONE,
    "GET /minions": FUNCTIONS,
    "GET /minions/{mid}": FUNCTIONS,
    "POST /minions": FUNCTIONS,
    "GET /jobs": FUNCTIONS,
    "GET /jobs/{jid}": FUNCTIONS,
    "GET /keys": FUNCTIONS,
    "GET /keys/{mid}": FUNCTIONS,
    "POST /keys": KNOWN,
    "POST /hook": ANYONE,
    "POST /hook/{tag}": ANYONE,
    "GET /events": "viewer",
    "GET /stats": KNOWN,
}
"""METHOD /path -> what it needs. What `ANYONE` may send asks for more by itself: who logs in shows a password, chunks
of `/run` have credentials of their own, and a hook has a token or the secret of the webhooks."""
_SAFE = ("GET", "HEAD", "OPTIONS")


async def guard(connection: _Connection, _: BaseRouteHandler) -> None:
    """Litestar's guard of all routes; ServiceError for who is not known, asks too often, or may not."""
    state = connection.scope["state"]
    access = cast(Access, connection.app.state.access)
    path = str(connection.scope.get("path_template", "")).removeprefix(PREFIX) or "/"
    action = f"{connection.scope.get('method', '')} {path.replace('{tag:path}', '{tag}').replace(':str', '')}"
    needed = NEEDS.get(action, "admin")
    principal = await _principal(connection, access)
    state["principal"], state["user"] = principal, principal.name
    if needed == ANYONE:
        return
    if not principal.name:
        raise ServiceError("unauthenticated", "the request does not show who asks", hint="docs/salt-api.md says how")
    if needed not in (KNOWN, FUNCTIONS):
        access.require(principal, cast(Role, needed), f"{action} of /salt", {}, changes=needed != "viewer")


async def _principal(connection: _Connection, access: Access) -> Principal:
    """Who asks; nobody, when nothing is shown."""
    peer = cast(Principal, connection.scope["state"].get("peer", NOBODY))
    token = _shown(connection)
    return await holder(connection, access, token) if token else replace(peer, name="")


def _shown(connection: _Connection) -> str:
    """The token of a request. That of an address counts for events, which a browser reads without headers."""
    if token := connection.headers.get("x-auth-token", ""):
        return token
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token.strip():
        return token.strip()
    path = str(connection.scope.get("path", ""))
    if path.rstrip("/") == f"{PREFIX}/events":
        named = connection.query_params.get("token") or connection.query_params.get("salt_token")
        if named:
            return str(named)
    cookie = connection.cookies.get(COOKIE, "")
    if cookie and connection.scope.get("method") not in _SAFE and not is_own_page(connection):
        raise ServiceError("forbidden", "a page of another site began this request")
    return cookie


async def holder(connection: _Connection, access: Access, token: str) -> Principal:
    """Whose token it is, counted by the port; ServiceError for one that is not good, and for who asks too often."""
    state = connection.scope["state"]
    counted = cast(Counted | None, state.get("counted"))
    with failures_counted(connection):
        principal = await access.holder(cast(Principal, state.get("peer", NOBODY)), token)
    if counted is not None:
        counted.asked_by(principal)
    return principal


async def asker_of(connection: _Connection, access: Access, chunk: Mapping[str, Any]) -> Principal:
    """Who asks for a chunk of `/run`, by what stands in it. ServiceError when nothing does, or nothing good."""
    if token := chunk.get("token"):
        return await holder(connection, access, str(token))
    if chunk.get("username") or chunk.get("password"):
        return await shown_in(connection, access, chunk)
    shown = cast(Principal, connection.scope["state"]["principal"])
    if not shown.name:
        raise ServiceError("unauthenticated", "a chunk needs token, or username, password and eauth")
    return shown


async def shown_in(connection: _Connection, access: Access, creds: Mapping[str, Any]) -> Principal:
    """Whose password or token it is, of `username`, `password` and `eauth`; a token is shown as `eauth: token`.

    ServiceError (`unauthenticated`) for what is not good.
    """
    user, password = str(creds.get("username") or ""), str(creds.get("password") or "")
    method = str(creds.get("eauth") or "pam")
    peer = cast(Principal, connection.scope["state"].get("peer", NOBODY))
    if method == "token":
        principal = await holder(connection, access, password)
        if user and user != principal.name:
            raise ServiceError("unauthenticated", f"the token is not one of {user[:64]}")
        return principal
    try:
        with failures_counted(connection, login=True):
            return await access.logins.check(peer, method, user, password)
    except ServiceError as error:
        raise as_unauthenticated(error) from None


def as_unauthenticated(error: ServiceError) -> ServiceError:
    """A login that is refused, as salt-api has it: 401."""
    kind = "unauthenticated" if error.kind == "forbidden" else error.kind
    return ServiceError(kind, error.message, hint=error.hint, retry_after=error.retry_after)


def session_cookie(token: str, seconds: int) -> Cookie:
    """What keeps a browser logged in; 0 seconds end it."""
    return Cookie(key=COOKIE, value=token, path=PREFIX, max_age=seconds, secure=True, httponly=True, samesite="strict")
