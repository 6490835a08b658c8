"""What each request of the socket needs: a role, or rules for the functions that it names. Called for every request.

A route that is not in the table needs the role admin.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from controller.access.access import Access
from controller.access.principals import NOBODY, Principal
from controller.config.access import Role

_Connection: TypeAlias = ASGIConnection[Any, Any, Any, Any]

ANYONE: Final = "anyone"
"""Whoever reaches the socket; what more it needs, its handler asks."""
FUNCTIONS: Final = "functions"
"""Its handler asks, as it knows which functions are meant."""

NEEDS: Mapping[str, str] = {
    "GET /healthz": ANYONE,
    "POST /login": ANYONE,
    "POST /tokens/revoke": ANYONE,
    "GET /whoami": ANYONE,
    "POST /call": FUNCTIONS,
    "POST /runner": FUNCTIONS,
    **dict.fromkeys(
        (
            "GET /status",
            "GET /status/fleet",
            "GET /workers",
            "GET /remotes",
            "GET /keys",
            "GET /keys/refused",
            "GET /keys/controller",
            "GET /diff",
            "GET /diff/fleet",
            "GET /history",
            "GET /compile",
            "GET /run",
            "GET /why",
            "GET /blame",
            "GET /pulls",
            "GET /reactions",
            "GET /reaction",
            "GET /orchestrations",
            "GET /orchestration",
            "GET /schedule",
            "GET /jobs",
            "GET /policy",
            "GET /rollouts",
            "GET /rollout",
            "GET /quarantine",
            "GET /notifications",
            "GET /notifications/spool",
            "GET /minions",
            "GET /job",
            "GET /events",
        ),
        "viewer",
    ),
    **dict.fromkeys(
        (
            "POST /remotes/fetch",
            "POST /sync",
            "POST /jobs/kill",
            "POST /pause",
            "POST /resume",
            "POST /confirm",
            "POST /unapply",
            "POST /rollout/change",
            "POST /rollback",
            "POST /quarantine/release",
            "POST /notifications/test",
            "POST /notifications/retry",
            "POST /preview",
            "POST /adopt",
            "POST /schedule/run",
            "POST /schedule/switch",
        ),
        "operator",
    ),
}
"""METHOD /path -> what it needs."""


def guard(connection: _Connection, handler: BaseRouteHandler) -> None:
    """Litestar's guard of all routes; ServiceError (`forbidden`) for who may not.

    Afterwards the state of the request has the `principal`.
    """
    state = connection.scope["state"]
    access = cast(Access, connection.app.state.access)
    peer = cast(Principal, state.get("peer", NOBODY))
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    principal = access.principal(peer, token.strip() if scheme.lower() == "bearer" else "")
    state["principal"] = principal
    state["user"] = principal.name
    method, path = str(connection.scope.get("method", "")), min(handler.paths)
    needed = NEEDS.get(f"{method} {path}", "admin")
    if needed in (ANYONE, FUNCTIONS):
        return
    action = action_of(method, path)
    decision = access.require(principal, cast(Role, needed), action, dict(connection.query_params), changes=False)
    if method != "GET":
        state["granted"] = action, decision  # kept with what is asked, when that is read (`asked.body_of`)


def action_of(method: str, path: str) -> str:
    """What a request does, as people read it: `look at status`, `keys accept`."""
    words = path.strip("/").replace("/", " ")
    return f"look at {words}" if method == "GET" else words
