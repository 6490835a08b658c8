"""The API of people who may use this controller: everything that the command line does, on a unix socket.

Who can open the socket may do everything; the permissions of its file are the authorisation. Questions go to the
`ControllerApi` unchanged.
"""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar, cast

import msgspec
from litestar import Litestar, Request, Response, get, post
from litestar.datastructures import State
from litestar.response import Stream

from controller.api import encoding, event_stream
from controller.config.limits import ApiLimits
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError
from controller.schema.minions import StatusView
from controller.schema.orchestrations import OrchestrationQuery, OrchestrationsQuery
from controller.schema.reactions import ReactionQuery, ReactionsQuery
from controller.schema.remotes import FetchView
from controller.schema.requests import (
    CallQuestion,
    CompileQuery,
    DiffQuery,
    HistoryQuery,
    KeysQuestion,
    PreviewQuestion,
    RemotesQuestion,
    RunnerQuestion,
    RunQuery,
    StatusQuery,
    SyncQuestion,
    TargetQuestion,
    UnapplyQuestion,
    WhyQuery,
)
from controller.schema.schedules import ScheduleRunQuestion, ScheduleSwitchQuestion
from controller.schema.targets import TargetExpression
from options.limits import CountRefusal

AdminRequest: TypeAlias = Request[Any, Any, State]
_Query = TypeVar("_Query", bound=msgspec.Struct)


def admin_app(service: ControllerApi, limits: ApiLimits, on_refusal: CountRefusal) -> Litestar:
    """The application for the socket."""
    return Litestar(
        route_handlers=[
            health,
            status,
            remotes,
            fetch_remotes,
            keys,
            controller_key,
            key_refusals,
            accept,
            reject,
            delete,
            diff,
            history,
            compile_detail,
            run_detail,
            why,
            call,
            sync,
            runner,
            pause,
            resume,
            preview,
            pulls,
            unapply,
            reactions,
            reaction,
            orchestrations,
            orchestration,
            schedule,
            run_scheduled,
            switch_schedule,
            events,
        ],
        state=State({"service": service}, deep_copy=False),
        exception_handlers=encoding.exception_handlers(on_refusal),
        openapi_config=None,
        logging_config=None,
        request_max_body_size=limits.body_bytes,
    )


@get("/healthz")
async def health() -> str:
    """Answers when the controller does."""
    return "ok\n"


@get("/status")
async def status(request: AdminRequest) -> Response[bytes]:
    """`saltern status`."""
    service, query = _service(request), _query(request, StatusQuery)
    target = None if query.expression is None else TargetExpression(kind=query.kind, expression=query.expression)
    view = StatusView(
        minions=tuple(service.status(target)),
        remotes=tuple(service.remotes()),
        returners=tuple(service.returners()),
        engines=tuple(service.engines()),
    )
    return encoding.answer(view)


@get("/remotes")
async def remotes(request: AdminRequest) -> Response[bytes]:
    """`saltern remote list`."""
    return encoding.answer(_service(request).remotes())


@post("/remotes/fetch", status_code=202)
async def fetch_remotes(request: AdminRequest) -> Response[bytes]:
    """`saltern remote fetch`."""
    data, service = await _body(request, RemotesQuestion), _service(request)
    count = 0
    for name in data.names or (None,):
        found = await service.hook(name, user=_user(request))
        if name is not None and not found:
            raise ServiceError("not-found", f"no remote {name!r}", hint="`saltern remote list` shows all remotes")
        count += found
    return encoding.answer(FetchView(remotes=count), 202)


@get("/keys")
async def keys(request: AdminRequest) -> Response[bytes]:
    """`saltern key list`."""
    return encoding.answer(await _service(request).keys())


@get("/keys/refused")
async def key_refusals(request: AdminRequest) -> Response[bytes]:
    """Why a key may be missing in `saltern key list`."""
    return encoding.answer(_service(request).key_refusals())


@get("/keys/controller")
async def controller_key(request: AdminRequest) -> Response[bytes]:
    """`saltern key controller`."""
    return encoding.answer(_service(request).controller_key())


@post("/keys/accept", status_code=200)
async def accept(request: AdminRequest) -> Response[bytes]:
    """`saltern key accept`."""
    data = await _body(request, KeysQuestion)
    return encoding.answer(await _service(request).accept(data.names, user=_user(request)))


@post("/keys/reject", status_code=200)
async def reject(request: AdminRequest) -> Response[bytes]:
    """`saltern key reject`."""
    data = await _body(request, KeysQuestion)
    return encoding.answer(await _service(request).reject(data.names, user=_user(request)))


@post("/keys/delete", status_code=200)
async def delete(request: AdminRequest) -> Response[bytes]:
    """`saltern key delete`."""
    data = await _body(request, KeysQuestion)
    return encoding.answer(await _service(request).delete(data.names, user=_user(request)))


@get("/diff")
async def diff(request: AdminRequest) -> Response[bytes]:
    """`saltern diff`."""
    return encoding.answer(await _service(request).diff(_query(request, DiffQuery).minion))


@get("/history")
async def history(request: AdminRequest) -> Response[bytes]:
    """`saltern history`."""
    query = _query(request, HistoryQuery)
    return encoding.answer(_service(request).history(query.minion, query.limit))


@get("/compile")
async def compile_detail(request: AdminRequest) -> Response[bytes]:
    """`saltern show`, of a minion."""
    return encoding.answer(_service(request).compile_detail(_query(request, CompileQuery).minion))


@get("/reactions")
async def reactions(request: AdminRequest) -> Response[bytes]:
    """`saltern reactions list`."""
    query = _query(request, ReactionsQuery)
    return encoding.answer(tuple(await _service(request).reactions(min(max(query.limit, 1), 10_000))))


@get("/reaction")
async def reaction(request: AdminRequest) -> Response[bytes]:
    """`saltern reactions show`."""
    return encoding.answer(await _service(request).reaction(_query(request, ReactionQuery).id))


@get("/orchestrations")
async def orchestrations(request: AdminRequest) -> Response[bytes]:
    """`saltern orchestrations list`."""
    query = _query(request, OrchestrationsQuery)
    return encoding.answer(tuple(await _service(request).orchestrations(min(max(query.limit, 1), 200))))


@get("/orchestration")
async def orchestration(request: AdminRequest) -> Response[bytes]:
    """`saltern orchestrations show`."""
    return encoding.answer(await _service(request).orchestration(_query(request, OrchestrationQuery).jid))


@get("/schedule")
async def schedule(request: AdminRequest) -> Response[bytes]:
    """`saltern schedule list`."""
    return encoding.answer(await _service(request).schedule())


@post("/schedule/run", status_code=200)
async def run_scheduled(request: AdminRequest) -> Response[bytes]:
    """`saltern schedule run`."""
    data = await _body(request, ScheduleRunQuestion)
    return encoding.answer(await _service(request).run_scheduled(data.job, force=data.force, user=_user(request)))


@post("/schedule/switch", status_code=200)
async def switch_schedule(request: AdminRequest) -> Response[bytes]:
    """`saltern schedule enable` and `disable`."""
    data = await _body(request, ScheduleSwitchQuestion)
    return encoding.answer(await _service(request).switch_schedule(data.job, data.enabled, user=_user(request)))


@get("/pulls")
async def pulls(request: AdminRequest) -> Response[bytes]:
    """`saltern pulls`."""
    return encoding.answer(tuple(_service(request).pulls()))


@get("/run")
async def run_detail(request: AdminRequest) -> Response[bytes]:
    """`saltern show`."""
    return encoding.answer(_service(request).run_detail(_query(request, RunQuery).id))


@get("/why")
async def why(request: AdminRequest) -> Response[bytes]:
    """`saltern why`."""
    return encoding.answer(await _service(request).why(_query(request, WhyQuery).minion))


@post("/call", status_code=200)
async def call(request: AdminRequest) -> Stream:
    """`saltern run`."""
    data = await _body(request, CallQuestion)
    return await encoding.stream(request, _service(request).call(data, user=_user(request)))


@post("/sync", status_code=200)
async def sync(request: AdminRequest) -> Stream:
    """`saltern sync`."""
    data = await _body(request, SyncQuestion)
    return await encoding.stream(request, _service(request).sync(data, user=_user(request)))


@post("/runner", status_code=200)
async def runner(request: AdminRequest) -> Stream:
    """`saltern runner` and `saltern wheel`."""
    data = await _body(request, RunnerQuestion)
    return await encoding.stream(request, _service(request).runner(data, user=_user(request)))


@post("/pause", status_code=200)
async def pause(request: AdminRequest) -> Response[bytes]:
    """`saltern pause`."""
    data = await _body(request, TargetQuestion)
    return encoding.answer(await _service(request).pause(data.target, user=_user(request)))


@post("/resume", status_code=200)
async def resume(request: AdminRequest) -> Response[bytes]:
    """`saltern resume`."""
    data = await _body(request, TargetQuestion)
    return encoding.answer(await _service(request).resume(data.target, user=_user(request)))


@post("/unapply", status_code=200)
async def unapply(request: AdminRequest) -> Response[bytes]:
    """`saltern unapply`."""
    data = await _body(request, UnapplyQuestion)
    return encoding.answer(await _service(request).unapply(data.pull, data.target, user=_user(request)))


@post("/preview", status_code=200)
async def preview(request: AdminRequest) -> Stream:
    """`saltern preview`."""
    data = await _body(request, PreviewQuestion)
    events = _service(request).preview(data, user=_user(request))
    return await encoding.stream(request, events)


@get("/events")
async def events(request: AdminRequest) -> Stream:
    """`saltern events`: JSON lines, or Server-Sent Events where those are accepted."""
    pieces = _service(request).events(event_stream.query_of(request))
    if "text/event-stream" in request.headers.get("accept", ""):
        return event_stream.answer(pieces)
    return await encoding.open_stream(pieces)


def _service(request: AdminRequest) -> ControllerApi:
    return cast(ControllerApi, request.app.state.service)


def _user(request: AdminRequest) -> str:
    """The name of the user who asks; see `controller.api.peer_user`."""
    return str(request.scope["state"].get("user", ""))


def _query(request: AdminRequest, of: type[_Query]) -> _Query:
    return encoding.query_of(request.query_params, of)


async def _body(request: AdminRequest, of: type[_Query]) -> _Query:
    try:
        return msgspec.json.decode(await request.body(), type=of)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise ServiceError("bad-request", str(error)) from None
