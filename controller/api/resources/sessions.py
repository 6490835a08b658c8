"""Sessions of browsers: a cookie that no script can read, and a token that a page of another site cannot know.

The cookie is sent by the browser alone (HttpOnly), over TLS alone (Secure), to this host alone (`__Host-`, RFC 6265bis
4.1.3.2) and never with what another site begins (SameSite=Strict). What changes something shows the CSRF token, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final

from litestar import Response
from litestar.datastructures import Cookie

from controller.access.csrf import csrf_token
from controller.access.decision import Decision, roles_of
from controller.access.principals import Principal
from controller.api import encoding
from controller.api.asked import AdminRequest, access_of, principal_of
from controller.api.credentials import COOKIE, session_cookie
from controller.api.operations import delete, get, post
from controller.api.permissions import failures_counted
from controller.config.access import AccessSettings
from controller.schema.access import NewSession, SessionQuestion, SessionView
from controller.schema.errors import ServiceError


@post("/session")
async def open_session(request: AdminRequest, body: SessionQuestion) -> Annotated[Response[bytes], NewSession]:
    """Log a browser in, by a token or a password; the answer sets the cookie."""
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
        # What a form of another site can send without asking first (Fetch, CORS-safelisted) opens no session here.
        raise ServiceError("bad-request", "the body must be application/json")
    access, owner = access_of(request), await _shown(request, body)
    if not owner.name:
        raise ServiceError("unauthenticated", "show a token, or a user and a password", hint="docs/api.md")
    secret, record = access.tokens.open_session(owner, request.app.state.session_seconds)
    access.audit.keep(owner, "open a session", {"session": record.id}, Decision(allowed=True, why="shown who it is"))
    view = _view(owner, record.id, record.expires, access.settings)
    answer = encoding.answer(NewSession(session=view, csrf=csrf_token(secret)))
    answer.set_cookie(_cookie(secret, int(record.expires - record.created)))
    return answer


@get("/session")
async def session(request: AdminRequest) -> NewSession:
    """Whose session it is, and its CSRF token: a page asks for it when it is loaded."""
    cookie, owner = session_cookie(request), principal_of(request)
    if not cookie or "authorization" in request.headers:
        raise ServiceError("unauthenticated", "there is no session", hint="POST /api/v1/session opens one")
    return NewSession(
        session=_view(owner, owner.token, owner.expires, access_of(request).settings), csrf=csrf_token(cookie)
    )


@delete("/session")
async def end_session(request: AdminRequest) -> Annotated[Response[bytes], Sequence[str]]:
    """Log a browser out; the ids of the session and of those that it had opened."""
    owner, access = principal_of(request), access_of(request)
    if not session_cookie(request) or "authorization" in request.headers:
        raise ServiceError("unauthenticated", "there is no session")
    access.audit.keep(owner, "end a session", {"session": owner.token}, Decision(allowed=True, why="its own"))
    answer = encoding.answer(tuple(access.tokens.revoke([owner.token])))
    answer.set_cookie(_cookie("", 0))
    return answer


ROUTES: Final = (open_session, session, end_session)


async def _shown(request: AdminRequest, asked: SessionQuestion) -> Principal:
    """Who shows it: the token of the body, a password, or who asks anyway."""
    access, peer = access_of(request), principal_of(request)
    with failures_counted(request, login=True):
        if asked.token:
            return await access.holder(peer, asked.token)
        if asked.user or asked.password:
            return await access.logins.check(peer, asked.method, asked.user, asked.password)
    return peer


def _view(owner: Principal, session_id: str, expires: float, settings: AccessSettings) -> SessionView:
    return SessionView(
        id=session_id,
        user=owner.name,
        groups=tuple(sorted(owner.groups)),
        method=owner.method,
        roles=roles_of(owner, settings),
        scopes=owner.scopes,
        expires=expires,
    )


def _cookie(value: str, seconds: int) -> Cookie:
    return Cookie(key=COOKIE, value=value, path="/", max_age=seconds, secure=True, httponly=True, samesite="strict")
