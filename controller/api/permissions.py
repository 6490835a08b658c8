"""What each request of the API needs: a role, or rules for the functions that it names. Called for every request.

One table for the unix socket and the port. A route that is not in it needs the role admin, and
fails a test (tests/controller/api/test_api_port.py).
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol, TypeAlias, cast

from litestar.connection import ASGIConnection
from litestar.handlers.base import BaseRouteHandler

from controller.access.access import Access
from controller.access.principals import NOBODY, Principal
from controller.api.credentials import who_asks
from controller.config.access import Role
from controller.schema.errors import ServiceError

_Connection: TypeAlias = ASGIConnection[Any, Any, Any, Any]

PREFIX: Final = "/api/v1"
"""Of the paths of all routes; it changes when an answer loses something that a client may rely on."""
ANYONE: Final = "anyone"
"""Whoever reaches the API; what more it needs, its handler asks."""
KNOWN: Final = "known"
"""Whoever shows who they are; what more it needs, its handler asks."""
FUNCTIONS: Final = "functions"
"""Its handler asks, as it knows which functions are meant."""

NEEDS: Mapping[str, str] = {
    "POST /login": ANYONE,
    "POST /session": ANYONE,
    "GET /session": KNOWN,
    "DELETE /session": KNOWN,
    "POST /tokens/revoke": KNOWN,
    "GET /whoami": KNOWN,
    "GET /openapi.json": KNOWN,
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
            "GET /agents/replacements",
            "GET /keys/controller",
            "GET /diff",
            "GET /diff/fleet",
            "GET /history",
            "GET /revisions",
            "GET /search",
            "GET /compile",
            "GET /run",
            "GET /why",
            "GET /blame",
            "GET /pulls",
            "GET /pulls/report",
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
            "GET /minions/detail",
            "GET /minions/presence",
            "GET /activity",
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
    **dict.fromkeys(
        (
            "GET /tokens",
            "POST /tokens",
            "GET /audit",
            "GET /audit/export",
            "POST /keys/accept",
            "POST /keys/reject",
            "POST /keys/delete",
            "POST /keys/add",
            "POST /keys/rotate",
            "POST /keys/controller/rotate",
            "GET /keys/tokens",
            "POST /keys/tokens",
            "POST /keys/tokens/revoke",
            "POST /config/reload",
            "POST /ssh/targets",
            "POST /ssh/visit",
            "POST /ssh/raw",
            "POST /agents/replace",
            "POST /compare/master",  # whoever asks often enough can guess a secret
        ),
        "admin",
    ),
}
"""METHOD /path -> what it needs."""


class Counted(Protocol):
    """What the port knows of the address that a request came from (`controller.api.port.gate`)."""

    def failed(self) -> None:
        """It showed something that is not good."""

    def require_room_to_read(self, principal: Principal) -> None:
        """ServiceError when there is no room for one more stream of events, or who asks has its share of them."""

    def begin_reading(self, principal: Principal) -> None:
        """A stream of events begins; ServiceError as `require_room_to_read`."""

    def end_reading(self, principal: Principal) -> None:
        """A stream that has begun ends."""

    def asked_by(self, principal: Principal) -> None:
        """Somebody who is known asks; ServiceError for who asks too often."""


async def guard(connection: _Connection, _: BaseRouteHandler) -> None:
    """Litestar's guard of all routes; ServiceError for who is not known, asks too often, or may not.

    Afterwards the state of the request has the `principal`.
    """
    state = connection.scope["state"]
    access = cast(Access, connection.app.state.access)
    method, path = str(connection.scope.get("method", "")), route_of(connection)
    needed = NEEDS.get(f"{method} {path}", "admin")
    principal = await _who_asks(connection, access, opens=needed == ANYONE)
    state["principal"] = principal
    state["user"] = principal.name
    if needed == ANYONE:
        return
    if not principal.name:
        raise ServiceError("unauthenticated", "the request does not show who asks", hint="docs/api.md says how")
    if needed in (KNOWN, FUNCTIONS):
        return
    action = action_of(method, path)
    decision = access.require(principal, cast(Role, needed), action, _asked_for(connection), changes=False)
    if method != "GET":
        state["granted"] = action, decision  # kept with what is asked, when that is read (`asked.body_of`)


@contextlib.contextmanager
def failures_counted(connection: _Connection, *, login: bool = False) -> Iterator[None]:
    """The port counts it when what is looked at inside is not good: a token or, with `login`, a password.

    Elsewhere what is forbidden is not counted: pages of other sites can have a browser ask for that.
    """
    try:
        yield
    except ServiceError as error:
        counted = cast(Counted | None, connection.scope["state"].get("counted"))
        if counted is not None and (error.kind == "unauthenticated" or (login and error.kind == "forbidden")):
            counted.failed()
        raise


async def _who_asks(connection: _Connection, access: Access, *, opens: bool) -> Principal:
    """The principal, which the port counts. `opens`: of a route by which somebody logs in, whatever else is shown."""
    counted = cast(Counted | None, connection.scope["state"].get("counted"))
    try:
        with failures_counted(connection):
            principal = await who_asks(connection, access)
    except ServiceError as error:
        if opens and error.kind != "unavailable":
            return cast(Principal, connection.scope["state"].get("peer", NOBODY))
        raise
    if counted is not None and principal.name:
        counted.asked_by(principal)
    return principal


def route_of(connection: _Connection) -> str:
    """The path of a route without the prefix of all, as the table has it: `/jobs/{jid}`."""
    return str(connection.scope.get("path_template", "")).removeprefix(PREFIX)


def _asked_for(connection: _Connection) -> dict[str, Any]:
    """What the address of a request says, for the audit log."""
    return {**connection.path_params, **connection.query_params}


def action_of(method: str, path: str) -> str:
    """What a request does, as people read it: `look at status`, `keys accept`."""
    words = " ".join(word for word in path.strip("/").split("/") if not word.startswith("{"))
    return {"GET": f"look at {words}", "DELETE": f"delete {words}"}.get(method, words)
