"""Answers as JSON: whole, or one item a line. Used by the two applications of `controller.api`."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import logging
import math
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
    "unauthenticated": 401,
    "forbidden": 403,
    "too-many-requests": 429,
    "no-target": 404,
    "not-found": 404,
    "conflict": 409,
    "compile": 422,
    "internal": 500,
    "unavailable": 503,
}


def encode(view: Any) -> bytes:
    """JSON of a view. Values of minions may hold what JSON has not: other keys than text, bytes that are no text."""
    try:
        return _ENCODER.encode(view)
    except (TypeError, ValueError, UnicodeError):
        return _ENCODER.encode(_plain(msgspec.to_builtins(view, builtin_types=(bytes,), str_keys=False)))


def query_of(values: Mapping[str, Any], of: type[Query]) -> Query:
    """The parameters of an address as what is asked; ServiceError for what is no question."""
    if any("\0" in str(value) for value in values.values()):
        raise ServiceError("bad-request", "a parameter has a NUL character")  # which PostgreSQL takes in no text
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
    found = answer(view, _STATUS[view.error])
    if view.error == "unauthenticated":
        found.headers["www-authenticate"] = "Bearer"
    if isinstance(error, ServiceError) and error.retry_after:
        found.headers["retry-after"] = str(math.ceil(error.retry_after))
    return found


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


_MOST_WAITING = 256 * 1024
"""Bytes of lines that wait for an asker who reads slowly."""


async def stream(request: Request[Any, Any, Any], items: AsyncIterator[Any]) -> Stream:
    """Items as JSON lines. What fails before the first one is raised, so that it gets a status of its own.

    When the asker goes away, `items` is closed at once, also while the first item is being made.
    """
    first: asyncio.Task[Any] = asyncio.ensure_future(_first(items))
    gone = asyncio.ensure_future(disconnected(request))
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


async def disconnected(request: Request[Any, Any, Any]) -> None:
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
    """Lines, those together that come together: a thousand returns are a few writes to the connection."""
    waiting = _WaitingLines()
    waiting.put(first)
    source = asyncio.ensure_future(waiting.fill(items))
    try:
        while lines := await waiting.take():
            yield lines
    finally:
        source.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await source
        await close(items)


class _WaitingLines:
    """Lines that are not written yet; about `_MOST_WAITING` bytes."""

    def __init__(self) -> None:
        self._lines: list[bytes] = []
        self._size = 0
        self._ended = False
        self._news = asyncio.Event()
        self._room = asyncio.Event()

    def put(self, item: Any) -> None:
        """Add one."""
        self._lines.append(encode(item) + b"\n")
        self._size += len(self._lines[-1])
        self._news.set()

    async def fill(self, items: AsyncIterator[Any]) -> None:
        """Add all, waiting while there is no room; an error is the last line."""
        try:
            async for item in items:
                self.put(item)
                while self._size > _MOST_WAITING:
                    self._room.clear()
                    await self._room.wait()
        except Exception as error:
            self.put(error_view(error))
        finally:
            self._ended = True
            self._news.set()

    async def take(self) -> bytes:
        """All that wait, once there are any; nothing at the end."""
        while not self._lines and not self._ended:
            self._news.clear()
            await self._news.wait()
        lines, self._lines, self._size = b"".join(self._lines), [], 0
        self._room.set()
        return lines


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
