"""Routes whose handlers say by their types what they take of the address and of the body, and what they answer.

The annotations are all that is said of it: they read each question, and `controller.api.openapi` publishes them.
Used by `controller.api.resources`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeAlias, TypeVar, get_args, get_origin, get_type_hints

import litestar
import msgspec
from litestar import Response
from litestar.handlers import HTTPRouteHandler

from controller.api import encoding
from controller.api.asked import AdminRequest, body_of, query_of

_View = TypeVar("_View")
_Handler: TypeAlias = Callable[..., Awaitable[Any]]
_Question: TypeAlias = type[msgspec.Struct]
OPERATION = "operation"
"""The key of a route's `opt` that has its `ApiOperation`."""


@dataclass(frozen=True, slots=True)
class Page(Generic[_View]):
    """Some of a list; the header `X-Total-Count` says how long all of it is."""

    views: tuple[_View, ...]
    total: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiOperation:
    """What a route takes and answers."""

    query: _Question | None
    """Parameters of the address."""
    body: _Question | None
    answer: Any
    """Type of the JSON, or of each line of it."""
    lines: bool
    """Whether it is one JSON value a line."""
    forms: tuple[str, ...]
    """Other media types that it can have."""
    paged: bool
    """Whether a header says how many there are."""
    status: int
    """Of an answer that is no refusal."""


def page(views: Sequence[_View], offset: int, limit: int | None) -> Page[_View]:
    """Some of these; `limit` None: all from the offset on."""
    return Page(tuple(views[offset : None if limit is None else offset + limit]), len(views))


def get(path: str) -> Callable[[_Handler], HTTPRouteHandler]:
    """A route that looks at something.

    The decorated coroutine gets the `AdminRequest`, the parameters of the address as `query` and the body as `body`,
    where it has parameters of these names. It returns a view, a `Page`, an iterator of lines, or a response whose
    content is told beside it: `Annotated[Response[bytes], NewSession]`, with other media types that it can have.
    """
    return _route(litestar.get, path, 200)


def post(path: str, *, status_code: int = 200) -> Callable[[_Handler], HTTPRouteHandler]:
    """A route that does something; as `get`."""
    return _route(litestar.post, path, status_code)


def delete(path: str) -> Callable[[_Handler], HTTPRouteHandler]:
    """A route that takes something away; as `get`."""
    return _route(litestar.delete, path, 200)


def operation_of(route: HTTPRouteHandler) -> ApiOperation:
    """What a route of this module takes and answers."""
    found: ApiOperation = route.opt[OPERATION]
    return found


def _route(kind: Callable[..., HTTPRouteHandler], path: str, status: int) -> Callable[[_Handler], HTTPRouteHandler]:
    def decorate(handler: _Handler) -> HTTPRouteHandler:
        operation = _operation(handler, status)

        async def ask(request: AdminRequest) -> Response[Any]:
            asked: dict[str, msgspec.Struct] = {}
            if operation.query is not None:
                asked["query"] = query_of(request, operation.query)
            if operation.body is not None:
                asked["body"] = await body_of(request, operation.body)
            return await _response(request, await handler(request, **asked), status)

        for name in ("__module__", "__name__", "__qualname__", "__doc__"):
            setattr(ask, name, getattr(handler, name))
        # The framework resolves names in the module of the handler, and is to see nothing else.
        ask.__annotations__ = {"request": AdminRequest, "return": Response[Any]}
        return kind(path, status_code=status, opt={OPERATION: operation})(ask)

    return decorate


def _operation(handler: _Handler, status: int) -> ApiOperation:
    hints = get_type_hints(handler, include_extras=True)
    answer = hints["return"]
    forms: list[str] = []
    if get_origin(answer) is Annotated:
        _, answer, *forms = get_args(answer)
    lines, paged = get_origin(answer) is AsyncIterator, get_origin(answer) is Page
    if lines:
        [answer] = get_args(answer)
    elif paged:
        answer = Sequence[get_args(answer)[0]]  # type: ignore[misc]  # made from what is known when it runs
    return ApiOperation(
        query=hints.get("query"),
        body=hints.get("body"),
        answer=answer,
        lines=lines,
        forms=tuple(forms),
        paged=paged,
        status=status,
    )


async def _response(request: AdminRequest, answered: Any, status: int) -> Response[Any]:
    match answered:
        case Response():
            return answered
        case Page():
            found = encoding.answer(answered.views, status)
            found.headers["x-total-count"] = str(answered.total)
            return found
        case AsyncIterator():
            return await encoding.stream(request, answered)
        case _:
            return encoding.answer(answered, status)
