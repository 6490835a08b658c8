"""What handlers of the socket's requests need: who asks, what, and the controller that answers."""

from __future__ import annotations

from typing import Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import msgspec
from litestar import Request
from litestar.datastructures import State

from controller.access.access import Access
from controller.access.decision import Decision
from controller.access.principals import Principal
from controller.api import encoding
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError

AdminRequest: TypeAlias = Request[Any, Any, State]


@runtime_checkable
class WithSecrets(Protocol):
    """A question that has what nobody may read later."""

    def audited(self) -> dict[str, Any]:
        """What of it is kept in the audit log."""


_Query = TypeVar("_Query", bound=msgspec.Struct)


def service_of(request: AdminRequest) -> ControllerApi:
    """The controller."""
    return cast(ControllerApi, request.app.state.service)


def access_of(request: AdminRequest) -> Access:
    """Decides who may."""
    return cast(Access, request.app.state.access)


def principal_of(request: AdminRequest) -> Principal:
    """Who asks, as `permissions.guard` has found out."""
    return cast(Principal, request.scope["state"]["principal"])


def user_of(request: AdminRequest) -> str:
    """Its name, for events and the history."""
    return principal_of(request).name


def query_of(request: AdminRequest, of: type[_Query]) -> _Query:
    """The parameters of the address; ServiceError for what is no question."""
    return encoding.query_of(request.query_params, of)


async def body_of(request: AdminRequest, of: type[_Query]) -> _Query:
    """What is asked; ServiceError for what is no question. Keeps in the audit log what a role has allowed."""
    try:
        asked = msgspec.json.decode(await request.body(), type=of)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ServiceError("bad-request", str(error)) from None
    granted = cast("tuple[str, Decision] | None", request.scope["state"].pop("granted", None))
    if granted is not None:
        action, decision = granted
        detail = asked.audited() if isinstance(asked, WithSecrets) else msgspec.to_builtins(asked)
        access_of(request).audit.keep(principal_of(request), action, detail, decision)
    return asked
