"""Answers as JSON: whole, or one item a line. Used by the two applications of `controller.api`."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, TypeVar

import msgspec
from litestar import Request, Response
from litestar.exceptions import HTTPException
from litestar.response import Stream
from litestar.status_codes import HTTP_413_REQUEST_ENTITY_TOO_LARGE
from litestar.types import ExceptionHandler

from controller.schema.errors import ErrorKind, ErrorView, ServiceError
from controller.store import StoreError
from options.limits import CountRefusal

LINES = "application/jsonl"

Query = TypeVar("Query", bound=msgspec.Struct)

_ENCODER = msgspec.json.Encoder()
_NONE = object()
"""In place of the first item when there is none."""
_LOG = logging.getLogger(__name__)
_STATUS: dict[ErrorKind, int] = {
    "bad-request": 400,
    "forbidden": 403,
    "no-target": 404,
    "not-found": 404,
    "conflict": 409,
    "compile": 422,
    "internal": 500,
}


def encode(view: Any) -> bytes:
    """JSON of a view. Values of minions may hold what JSON has not: other keys than text, bytes that are no text."""
    try:
        return _ENCODER.encode(view)
    except (TypeError, ValueError, UnicodeError):
        return _ENCODER.encode(_plain(msgspec.to_builtins(view, builtin_types=(bytes,), str_keys=False)))


def query_of(values: Mapping[str, Any], of: type[Query]) -> Query:
    """The parameters of an address as what is asked; ServiceError for what is no question."""
    try:
        return msgspec.convert(dict(values), of, strict=False)
    except msgspec.ValidationError as error:
        raise ServiceError("bad-request", str(error)) from None


def answer(view: Any, status_code: int = 200) -> Response[bytes]:
    """An answer in one piece."""
    return Response(encode(view), media_type="application/json", status_code=status_code)


def refusal(error: Exception) -> Response[bytes]:
    """The answer to a question that failed."""
    view = error_view(error)
    return answer(view, _STATUS[view.error])


def error_view(error: Exception) -> ErrorView:
    """The error as people see it; an unexpected one goes to the log with its traceback."""
    match error:
        case ServiceError():
            return ErrorView(error=error.kind, message=error.message, hint=error.hint, problems=error.problems)
        case StoreError():
            return ErrorView(error="internal", message=str(error))
        case _:
            _LOG.error("a request failed", exc_info=error)
            return ErrorView(error="internal", message=f"{type(error).__name__}: {error}", hint="see the log")


async def stream(request: Request[Any, Any, Any], items: AsyncIterator[Any]) -> Stream:
    """Items as JSON lines. What fails before the first one is raised, so that it gets a status of its own.

    When the asker goes away, `items` is closed at once, also while the first item is being made.
    """
    first: asyncio.Task[Any] = asyncio.ensure_future(_first(items))
    gone = asyncio.ensure_future(_disconnected(request))
    try:
        await asyncio.wait((first, gone), return_when=asyncio.FIRST_COMPLETED)
        if not first.done():
            return Stream(iter(()), media_type=LINES)
        item = first.result()
    finally:
        for task in (first, gone):
            task.cancel()
        if first.cancelling():
            with contextlib.suppress(asyncio.CancelledError):
                await first
            await close(items)
    return Stream(iter(()) if item is _NONE else _lines(item, items), media_type=LINES)


async def _first(items: AsyncIterator[Any]) -> Any:
    return await anext(items, _NONE)


async def _disconnected(request: Request[Any, Any, Any]) -> None:
    """Return when the asker has closed its connection; its body has been read before."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


async def open_stream(pieces: AsyncIterator[Sequence[Any]]) -> Stream:
    """Items as JSON lines, of a source that gives some at a time and may be silent for long: it begins at once."""
    return Stream(_pieces(pieces), media_type=LINES)


async def _pieces(pieces: AsyncIterator[Sequence[Any]]) -> AsyncIterator[bytes]:
    try:
        yield b""
        async for items in pieces:
            yield b"".join([encode(item) + b"\n" for item in items])
    except Exception as error:
        yield encode(error_view(error)) + b"\n"
    finally:
        await close(pieces)


async def _lines(first: Any, items: AsyncIterator[Any]) -> AsyncIterator[bytes]:
    try:
        yield encode(first) + b"\n"
        async for item in items:
            yield encode(item) + b"\n"
    except Exception as error:
        yield encode(error_view(error)) + b"\n"
    finally:
        await close(items)


async def close(items: AsyncIterator[Any]) -> None:
    """The asker is gone or all is said: the service learns of it now, not when memory is collected."""
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()


def exception_handlers(on_refusal: CountRefusal) -> dict[int | type[Exception], ExceptionHandler[Any]]:
    """The handlers of an application. `on_refusal` takes `body-bytes` when a body is too large."""

    def on_http_error_counted(request: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
        if error.status_code == HTTP_413_REQUEST_ENTITY_TOO_LARGE:
            on_refusal("body-bytes")
        return on_http_error(request, error)

    return {HTTPException: on_http_error_counted, Exception: on_service_error}


def on_service_error(_: Request[Any, Any, Any], error: Exception) -> Response[bytes]:
    """For ServiceError, and for whatever nobody foresaw."""
    return refusal(error)


def on_http_error(_: Request[Any, Any, Any], error: HTTPException) -> Response[bytes]:
    """For what the framework refuses: unknown paths, bodies of the wrong shape or size."""
    problems = tuple(_told(item) for item in error.extra) if isinstance(error.extra, list) else ()
    kind: ErrorKind = {404: "not-found", 403: "forbidden"}.get(error.status_code, "bad-request")  # type: ignore[assignment]  # values of the literal
    return answer(ErrorView(error=kind, message=error.detail, problems=problems), error.status_code)


def _told(item: Any) -> str:
    if isinstance(item, dict):
        return ": ".join(str(item[key]) for key in ("key", "message") if key in item)
    return str(item)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {key if isinstance(key, str) else str(key): _plain(inner) for key, inner in value.items()}
        case list() | tuple() | set() | frozenset():
            return [_plain(inner) for inner in value]
        case bytes():
            try:
                return value.decode()
            except UnicodeDecodeError:
                return base64.b64encode(value).decode()
        case str():
            return value.encode("utf-8", "backslashreplace").decode()
        case None | bool() | int() | float():
            return value
        case _:
            return str(value)
