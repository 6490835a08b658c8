"""The API of people who may use this controller: everything that the command line does, on a unix socket.

Who can open the socket may do everything; the permissions of its file are the authorisation. Questions go to the
`Service` unchanged.
"""

from __future__ import annotations

from typing import Annotated, cast

from litestar import Litestar, Response, get, post
from litestar.datastructures import State
from litestar.exceptions import HTTPException
from litestar.params import Parameter
from litestar.response import Stream

from controller.api import encoding
from controller.questions import CallQuestion, KeysQuestion, PreviewQuestion, SyncQuestion, TargetQuestion
from controller.views import Service, StatusView, Target, TargetKind

_LARGEST = 16 * 1024 * 1024


def admin_app(service: Service) -> Litestar:
    """The application for the socket."""
    return Litestar(
        route_handlers=[
            health,
            status,
            remotes,
            keys,
            controller_key,
            accept,
            reject,
            delete,
            diff,
            history,
            run_detail,
            call,
            sync,
            pause,
            resume,
            preview,
            events,
        ],
        state=State({"service": service}, deep_copy=False),
        exception_handlers={HTTPException: encoding.on_http_error, Exception: encoding.on_service_error},
        openapi_config=None,
        logging_config=None,
        request_max_body_size=_LARGEST,
    )


@get("/healthz")
async def health() -> str:
    """That there is somebody."""
    return "ok\n"


@get("/status")
async def status(state: State, expression: str | None = None, kind: TargetKind = "glob") -> Response[bytes]:
    """`saltern status`."""
    service = _service(state)
    target = None if expression is None else Target(kind=kind, expression=expression)
    minions = tuple(service.status(target))
    return encoding.answer(StatusView(minions=minions, remotes=tuple(service.remotes())))


@get("/remotes")
async def remotes(state: State) -> Response[bytes]:
    """`saltern remote list`."""
    return encoding.answer(_service(state).remotes())


@get("/keys")
async def keys(state: State) -> Response[bytes]:
    """`saltern key list`."""
    return encoding.answer(_service(state).keys())


@get("/keys/controller")
async def controller_key(state: State) -> Response[bytes]:
    """`saltern key controller`."""
    return encoding.answer(_service(state).controller_key())


@post("/keys/accept", status_code=200)
async def accept(state: State, data: KeysQuestion) -> Response[bytes]:
    """`saltern key accept`."""
    return encoding.answer(_service(state).accept(data.names))


@post("/keys/reject", status_code=200)
async def reject(state: State, data: KeysQuestion) -> Response[bytes]:
    """`saltern key reject`."""
    return encoding.answer(_service(state).reject(data.names))


@post("/keys/delete", status_code=200)
async def delete(state: State, data: KeysQuestion) -> Response[bytes]:
    """`saltern key delete`."""
    return encoding.answer(_service(state).delete(data.names))


@get("/diff")
async def diff(state: State, minion: str | None = None) -> Response[bytes]:
    """`saltern diff`."""
    return encoding.answer(_service(state).diff(minion))


@get("/history")
async def history(
    state: State, minion: str | None = None, limit: Annotated[int, Parameter(ge=1, le=100_000)] = 20
) -> Response[bytes]:
    """`saltern history`."""
    return encoding.answer(_service(state).history(minion, limit))


@get("/runs/{run_id:str}")
async def run_detail(state: State, run_id: str) -> Response[bytes]:
    """`saltern show`."""
    return encoding.answer(_service(state).run_detail(run_id))


@post("/call", status_code=200)
async def call(state: State, data: CallQuestion) -> Stream:
    """`saltern run`."""
    return await encoding.stream(_service(state).call(data.target, data.fun, data.args, data.kwargs, data.timeout))


@post("/sync", status_code=200)
async def sync(state: State, data: SyncQuestion) -> Stream:
    """`saltern sync`."""
    return await encoding.stream(_service(state).sync(data.target, whole=data.whole, test=data.test))


@post("/pause", status_code=200)
async def pause(state: State, data: TargetQuestion) -> Response[bytes]:
    """`saltern pause`."""
    return encoding.answer(await _service(state).pause(data.target))


@post("/resume", status_code=200)
async def resume(state: State, data: TargetQuestion) -> Response[bytes]:
    """`saltern resume`."""
    return encoding.answer(await _service(state).resume(data.target))


@post("/preview", status_code=200)
async def preview(state: State, data: PreviewQuestion) -> Stream:
    """`saltern preview`."""
    return await encoding.stream(_service(state).preview(data.base, data.head, data.target, live=data.live))


@get("/events")
async def events(state: State) -> Stream:
    """`saltern events`."""
    return await encoding.open_stream(_service(state).events())


def _service(state: State) -> Service:
    return cast(Service, state.service)
