"""What the command line asks of the whole controller and of its minions."""

from __future__ import annotations

from typing import Final

from litestar import Response, get, post
from litestar.response import Stream

from controller.api import encoding, event_stream
from controller.api.asked import AdminRequest, access_of, body_of, principal_of, query_of, service_of, user_of
from controller.api.calls import allowed_call, require_runner
from controller.schema.errors import ServiceError
from controller.schema.fleet.adoption import AdoptQuestion
from controller.schema.fleet.reloads import ReloadQuestion
from controller.schema.fleet.status import FleetStatusQuery
from controller.schema.minions import StatusView
from controller.schema.orchestrations import OrchestrationQuery, OrchestrationsQuery
from controller.schema.reactions import ReactionQuery, ReactionsQuery
from controller.schema.remotes import FetchView
from controller.schema.requests import (
    BlameQuery,
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


@get("/status")
async def status(request: AdminRequest) -> Response[bytes]:
    """`saltern status`."""
    service, query = service_of(request), query_of(request, StatusQuery)
    target = None if query.expression is None else TargetExpression(kind=query.kind, expression=query.expression)
    view = StatusView(
        minions=tuple(await service.status(target)),
        remotes=tuple(service.remotes()),
        returners=tuple(service.returners()),
        engines=tuple(service.engines()),
        executor=service.executor(),
    )
    return encoding.answer(view)


@get("/status/fleet")
async def fleet_status(request: AdminRequest) -> Response[bytes]:
    """`saltern status --by`."""
    return encoding.answer(await service_of(request).fleet_status(query_of(request, FleetStatusQuery).by))


@get("/workers")
async def workers(request: AdminRequest) -> Response[bytes]:
    """`saltern workers`."""
    return encoding.answer(service_of(request).executor())


@get("/remotes")
async def remotes(request: AdminRequest) -> Response[bytes]:
    """`saltern remote list`."""
    return encoding.answer(service_of(request).remotes())


@post("/remotes/fetch", status_code=202)
async def fetch_remotes(request: AdminRequest) -> Response[bytes]:
    """`saltern remote fetch`."""
    data, service = await body_of(request, RemotesQuestion), service_of(request)
    count = 0
    for name in data.names or (None,):
        found = await service.hook(name, user=user_of(request))
        if name is not None and not found:
            raise ServiceError("not-found", f"no remote {name!r}", hint="`saltern remote list` shows all remotes")
        count += found
    return encoding.answer(FetchView(remotes=count), 202)


@get("/keys")
async def keys(request: AdminRequest) -> Response[bytes]:
    """`saltern key list`."""
    return encoding.answer(await service_of(request).keys())


@get("/keys/refused")
async def key_refusals(request: AdminRequest) -> Response[bytes]:
    """Why a key may be missing in `saltern key list`."""
    return encoding.answer(service_of(request).key_refusals())


@get("/keys/controller")
async def controller_key(request: AdminRequest) -> Response[bytes]:
    """`saltern key controller`."""
    return encoding.answer(service_of(request).controller_key())


@post("/keys/accept", status_code=200)
async def accept(request: AdminRequest) -> Response[bytes]:
    """`saltern key accept`."""
    data = await body_of(request, KeysQuestion)
    return encoding.answer(await service_of(request).accept(data.names, user=user_of(request)))


@post("/keys/reject", status_code=200)
async def reject(request: AdminRequest) -> Response[bytes]:
    """`saltern key reject`."""
    data = await body_of(request, KeysQuestion)
    return encoding.answer(await service_of(request).reject(data.names, user=user_of(request)))


@post("/keys/delete", status_code=200)
async def delete(request: AdminRequest) -> Response[bytes]:
    """`saltern key delete`."""
    data = await body_of(request, KeysQuestion)
    return encoding.answer(await service_of(request).delete(data.names, user=user_of(request)))


@get("/diff")
async def diff(request: AdminRequest) -> Response[bytes]:
    """`saltern diff`."""
    return encoding.answer(await service_of(request).diff(query_of(request, DiffQuery).minion))


@get("/diff/fleet")
async def fleet_diff(request: AdminRequest) -> Stream:
    """`saltern diff` of many minions."""
    query = query_of(request, StatusQuery)
    target = None if query.expression is None else TargetExpression(kind=query.kind, expression=query.expression)
    return await encoding.stream(request, service_of(request).fleet_diff(target))


@get("/history")
async def history(request: AdminRequest) -> Response[bytes]:
    """`saltern history`."""
    query = query_of(request, HistoryQuery)
    service = service_of(request)
    if query.causes:
        return encoding.answer(await service.history_with_causes(query.minion, query.limit))
    return encoding.answer(await service.history(query.minion, query.limit))


@get("/compile")
async def compile_detail(request: AdminRequest) -> Response[bytes]:
    """`saltern show`, of a minion."""
    return encoding.answer(service_of(request).compile_detail(query_of(request, CompileQuery).minion))


@get("/reactions")
async def reactions(request: AdminRequest) -> Response[bytes]:
    """`saltern reactions list`."""
    query = query_of(request, ReactionsQuery)
    return encoding.answer(tuple(await service_of(request).reactions(min(max(query.limit, 1), 10_000))))


@get("/reaction")
async def reaction(request: AdminRequest) -> Response[bytes]:
    """`saltern reactions show`."""
    return encoding.answer(await service_of(request).reaction(query_of(request, ReactionQuery).id))


@get("/orchestrations")
async def orchestrations(request: AdminRequest) -> Response[bytes]:
    """`saltern orchestrations list`."""
    query = query_of(request, OrchestrationsQuery)
    return encoding.answer(tuple(await service_of(request).orchestrations(min(max(query.limit, 1), 200))))


@get("/orchestration")
async def orchestration(request: AdminRequest) -> Response[bytes]:
    """`saltern orchestrations show`."""
    return encoding.answer(await service_of(request).orchestration(query_of(request, OrchestrationQuery).jid))


@get("/schedule")
async def schedule(request: AdminRequest) -> Response[bytes]:
    """`saltern schedule list`."""
    return encoding.answer(await service_of(request).schedule())


@post("/schedule/run", status_code=200)
async def run_scheduled(request: AdminRequest) -> Response[bytes]:
    """`saltern schedule run`."""
    data = await body_of(request, ScheduleRunQuestion)
    return encoding.answer(await service_of(request).run_scheduled(data.job, force=data.force, user=user_of(request)))


@post("/schedule/switch", status_code=200)
async def switch_schedule(request: AdminRequest) -> Response[bytes]:
    """`saltern schedule enable` and `disable`."""
    data = await body_of(request, ScheduleSwitchQuestion)
    return encoding.answer(await service_of(request).switch_schedule(data.job, data.enabled, user=user_of(request)))


@get("/pulls")
async def pulls(request: AdminRequest) -> Response[bytes]:
    """`saltern pulls`."""
    return encoding.answer(tuple(service_of(request).pulls()))


@get("/run")
async def run_detail(request: AdminRequest) -> Response[bytes]:
    """`saltern show`."""
    return encoding.answer(await service_of(request).run_detail(query_of(request, RunQuery).id))


@get("/why")
async def why(request: AdminRequest) -> Response[bytes]:
    """`saltern why`."""
    return encoding.answer(await service_of(request).why(query_of(request, WhyQuery)))


@get("/blame")
async def blame(request: AdminRequest) -> Response[bytes]:
    """`saltern blame`."""
    return encoding.answer(await service_of(request).blame(query_of(request, BlameQuery)))


@post("/call", status_code=200)
async def call(request: AdminRequest) -> Stream:
    """`saltern run`."""
    asked = await body_of(request, CallQuestion)
    data = await allowed_call(access_of(request), principal_of(request), service_of(request), asked)
    return await encoding.stream(request, service_of(request).call(data, user=user_of(request)))


@post("/sync", status_code=200)
async def sync(request: AdminRequest) -> Stream:
    """`saltern sync`."""
    data = await body_of(request, SyncQuestion)
    return await encoding.stream(request, service_of(request).sync(data, user=user_of(request)))


@post("/runner", status_code=200)
async def runner(request: AdminRequest) -> Stream:
    """`saltern runner` and `saltern wheel`."""
    data = await body_of(request, RunnerQuestion)
    require_runner(access_of(request), principal_of(request), data)
    return await encoding.stream(request, service_of(request).runner(data, user=user_of(request)))


@post("/pause", status_code=200)
async def pause(request: AdminRequest) -> Response[bytes]:
    """`saltern pause`."""
    data = await body_of(request, TargetQuestion)
    return encoding.answer(await service_of(request).pause(data.target, user=user_of(request)))


@post("/resume", status_code=200)
async def resume(request: AdminRequest) -> Response[bytes]:
    """`saltern resume`."""
    data = await body_of(request, TargetQuestion)
    return encoding.answer(await service_of(request).resume(data.target, user=user_of(request)))


@post("/confirm", status_code=200)
async def confirm(request: AdminRequest) -> Response[bytes]:
    """`saltern confirm`."""
    data = await body_of(request, TargetQuestion)
    return encoding.answer(await service_of(request).confirm(data.target, user=user_of(request)))


@post("/unapply", status_code=200)
async def unapply(request: AdminRequest) -> Response[bytes]:
    """`saltern unapply`."""
    data = await body_of(request, UnapplyQuestion)
    return encoding.answer(await service_of(request).unapply(data.pull, data.target, user=user_of(request)))


@post("/preview", status_code=200)
async def preview(request: AdminRequest) -> Stream:
    """`saltern preview`."""
    data = await body_of(request, PreviewQuestion)
    events = service_of(request).preview(data, user=user_of(request))
    return await encoding.stream(request, events)


@post("/adopt", status_code=200)
async def adopt(request: AdminRequest) -> Response[bytes]:
    """`saltern adopt`."""
    data = await body_of(request, AdoptQuestion)
    return encoding.answer(await service_of(request).adopt(data, user=user_of(request)))


@get("/events")
async def events(request: AdminRequest) -> Stream:
    """`saltern events`: JSON lines, or Server-Sent Events where those are accepted."""
    pieces = event_stream.counted(request, service_of(request).events(event_stream.query_of(request)))
    if "text/event-stream" in request.headers.get("accept", ""):
        return event_stream.answer(pieces)
    return await encoding.open_stream(pieces)


@post("/config/reload", status_code=200)
async def reload(request: AdminRequest) -> Response[bytes]:
    """`saltern reload`."""
    data = await body_of(request, ReloadQuestion)
    return encoding.answer(await service_of(request).reload(check=data.check, user=user_of(request)))


ROUTES: Final = (
    status,
    fleet_status,
    workers,
    remotes,
    fetch_remotes,
    keys,
    controller_key,
    key_refusals,
    accept,
    reject,
    delete,
    diff,
    fleet_diff,
    history,
    compile_detail,
    run_detail,
    why,
    blame,
    call,
    sync,
    runner,
    pause,
    resume,
    confirm,
    preview,
    adopt,
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
    reload,
)
