"""What the command line asks of the whole controller and of its minions."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Annotated, Any, Final

from litestar import Response
from litestar.response import Stream

from controller.api import encoding, event_stream
from controller.api.asked import AdminRequest, access_of, principal_of, service_of, user_of
from controller.api.calls import allowed_call, require_runner
from controller.api.operations import Page, get, page, post
from controller.schema.blame import BlameView
from controller.schema.errors import ServiceError
from controller.schema.events import EventView, WhyView
from controller.schema.fleet.adoption import AdoptQuestion, AdoptView
from controller.schema.fleet.comparisons import MinionComparison, SaltsSide
from controller.schema.fleet.reloads import ReloadQuestion, ReloadView
from controller.schema.fleet.status import FleetStatusQuery, FleetStatusView
from controller.schema.keys import ControllerKey, KeyRefusals, KeysQuery, KeyView
from controller.schema.minions import CompileView, ExecutorStatus, StatusView
from controller.schema.orchestrations import (
    OrchestrationDetail,
    OrchestrationQuery,
    OrchestrationsQuery,
    OrchestrationView,
)
from controller.schema.plans import MinionDiff
from controller.schema.preview_stream import PreviewItem
from controller.schema.pulls import PullReportQuery, PullView
from controller.schema.reactions import ReactionQuery, ReactionsQuery, ReactionTrace, ReactionView
from controller.schema.remotes import FetchView, RemoteStatus
from controller.schema.requests import (
    BlameQuery,
    CallQuestion,
    CompileQuery,
    DiffQuery,
    EventsQuery,
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
from controller.schema.runners import RunnerItem
from controller.schema.runs import CallItem, CallProgress, CausedEntry, HistoryEntry, RunView, SyncReturn
from controller.schema.schedules import ScheduleRunQuestion, ScheduleRunView, ScheduleSwitchQuestion, ScheduleView


@get("/status")
async def status(request: AdminRequest, query: StatusQuery) -> StatusView:
    """Where minions stand, and remotes, returners, engines and compile workers (`saltern status`)."""
    service = service_of(request)
    return StatusView(
        minions=tuple(await service.status(query.target)),
        remotes=tuple(service.remotes()),
        returners=tuple(service.returners()),
        engines=tuple(service.engines()),
        executor=service.executor(),
    )


@get("/status/fleet")
async def fleet_status(request: AdminRequest, query: FleetStatusQuery) -> FleetStatusView:
    """Where the fleet, its environments or its waves stand (`saltern status --by`)."""
    return await service_of(request).fleet_status(query.by, recent=query.recent)


@get("/workers")
async def workers(request: AdminRequest) -> ExecutorStatus:
    """Where minions are compiled: by this machine, or by which workers of a cluster (`saltern workers`)."""
    return service_of(request).executor()


@get("/remotes")
async def remotes(request: AdminRequest) -> Sequence[RemoteStatus]:
    """Git remotes as they were seen last (`saltern remote list`)."""
    return service_of(request).remotes()


@post("/remotes/fetch", status_code=202)
async def fetch_remotes(request: AdminRequest, body: RemotesQuestion) -> FetchView:
    """Have remotes fetched now (`saltern remote fetch`)."""
    service, count = service_of(request), 0
    for name in body.names or (None,):
        found = await service.hook(name, user=user_of(request))
        if name is not None and not found:
            raise ServiceError("not-found", f"no remote {name!r}", hint="`saltern remote list` shows all remotes")
        count += found
    return FetchView(remotes=count)


@get("/keys")
async def keys(request: AdminRequest, query: KeysQuery) -> Page[KeyView]:
    """Keys, by state and id (`saltern key list`)."""
    wanted = query.text.casefold()
    meant = [
        each
        for each in await service_of(request).keys()
        if query.state in ("", each.state) and (wanted in each.minion.casefold() or wanted in each.fingerprint)
    ]
    return page(meant, query.offset, query.limit)


@get("/keys/refused")
async def key_refusals(request: AdminRequest) -> KeyRefusals:
    """What limits refused of key requests: why a key may be missing in the list."""
    return service_of(request).key_refusals()


@get("/keys/controller")
async def controller_key(request: AdminRequest) -> ControllerKey:
    """The controller's own key (`saltern key controller`)."""
    return service_of(request).controller_key()


@post("/keys/accept")
async def accept(request: AdminRequest, body: KeysQuestion) -> Sequence[KeyView]:
    """Accept keys; those that are meant, as they are now (`saltern key accept`)."""
    return await service_of(request).accept(body.names, user=user_of(request))


@post("/keys/reject")
async def reject(request: AdminRequest, body: KeysQuestion) -> Sequence[KeyView]:
    """Reject keys; a connected minion is cut off (`saltern key reject`)."""
    return await service_of(request).reject(body.names, user=user_of(request))


@post("/keys/delete")
async def delete(request: AdminRequest, body: KeysQuestion) -> Sequence[KeyView]:
    """Forget keys, and the minions that had them (`saltern key delete`)."""
    return await service_of(request).delete(body.names, user=user_of(request))


@get("/diff")
async def diff(request: AdminRequest, query: DiffQuery) -> Sequence[MinionDiff]:
    """What is pending and what drifted: of one minion, or of all that have any (`saltern diff`)."""
    return await service_of(request).diff(query.minion)


@get("/diff/fleet")
async def fleet_diff(request: AdminRequest, query: StatusQuery) -> AsyncIterator[PreviewItem]:
    """What is pending and what drifted on many minions, by classes (`saltern diff` of many minions)."""
    return service_of(request).fleet_diff(query.target)


@get("/history")
async def history(request: AdminRequest, query: HistoryQuery) -> Sequence[CausedEntry | HistoryEntry]:
    """Runs, newest first; what led to each of them with `causes` alone (`saltern history`)."""
    service = service_of(request)
    return await service.history_with_causes(query) if query.causes else await service.history(query)


@get("/compile")
async def compile_detail(request: AdminRequest, query: CompileQuery) -> CompileView:
    """The newest compile of a minion, with its warnings and what it stands on (`saltern show`)."""
    return service_of(request).compile_detail(query.minion)


@get("/reactions")
async def reactions(request: AdminRequest, query: ReactionsQuery) -> Sequence[ReactionView]:
    """The newest events that reactors answered, newest first (`saltern reactions list`)."""
    return await service_of(request).reactions(query)


@get("/reaction")
async def reaction(request: AdminRequest, query: ReactionQuery) -> ReactionTrace:
    """A reaction, with what it answered and what followed from it (`saltern reactions show`)."""
    return await service_of(request).reaction(query.id)


@get("/orchestrations")
async def orchestrations(request: AdminRequest, query: OrchestrationsQuery) -> Sequence[OrchestrationView]:
    """Orchestrations that go on, then those of the history, newest first (`saltern orchestrations list`)."""
    return await service_of(request).orchestrations(query)


@get("/orchestration")
async def orchestration(request: AdminRequest, query: OrchestrationQuery) -> OrchestrationDetail:
    """An orchestration with its steps (`saltern orchestrations show`)."""
    return await service_of(request).orchestration(query.jid)


@get("/schedule")
async def schedule(request: AdminRequest) -> ScheduleView:
    """The controller's own schedule (`saltern schedule list`)."""
    return await service_of(request).schedule()


@post("/schedule/run")
async def run_scheduled(request: AdminRequest, body: ScheduleRunQuestion) -> ScheduleRunView:
    """Begin a job of the schedule at once (`saltern schedule run`)."""
    return await service_of(request).run_scheduled(body.job, force=body.force, user=user_of(request))


@post("/schedule/switch")
async def switch_schedule(request: AdminRequest, body: ScheduleSwitchQuestion) -> ScheduleView:
    """Enable or disable a job of the schedule, or all of them (`saltern schedule enable` and `disable`)."""
    return await service_of(request).switch_schedule(body.job, body.enabled, user=user_of(request))


@get("/pulls")
async def pulls(request: AdminRequest) -> Sequence[PullView]:
    """Open pull requests, as they were left after the last look at each (`saltern pulls`)."""
    return service_of(request).pulls()


@get("/pulls/report")
async def pull_report(request: AdminRequest, query: PullReportQuery) -> Annotated[Response[bytes], dict[str, Any]]:
    """The whole report of a pull request, for who is logged in; comments have links of their own."""
    return Response(await service_of(request).pull_report(query), media_type="application/json")


@get("/run")
async def run_detail(request: AdminRequest, query: RunQuery) -> RunView:
    """One run with what led to it and all that came of it (`saltern show`)."""
    return await service_of(request).run_detail(query.id)


@get("/why")
async def why(request: AdminRequest, query: WhyQuery) -> WhyView:
    """What led to the newest run or compile of a minion, and what followed (`saltern why`)."""
    return await service_of(request).why(query)


@get("/blame")
async def blame(request: AdminRequest, query: BlameQuery) -> BlameView:
    """Where the values of states of a minion are written, and by which commits (`saltern blame`)."""
    return await service_of(request).blame(query)


@post("/call")
async def call(request: AdminRequest, body: CallQuestion) -> AsyncIterator[CallItem]:
    """Run a function on minions (`saltern run`)."""
    asked = await allowed_call(access_of(request), principal_of(request), service_of(request), body)
    return service_of(request).call(asked, user=user_of(request))


@post("/sync")
async def sync(request: AdminRequest, body: SyncQuestion) -> AsyncIterator[SyncReturn | CallProgress]:
    """Apply what is pending now (`saltern sync`)."""
    return service_of(request).sync(body, user=user_of(request))


@post("/runner")
async def runner(request: AdminRequest, body: RunnerQuestion) -> AsyncIterator[RunnerItem]:
    """Call a function of the controller (`saltern runner` and `saltern wheel`)."""
    require_runner(access_of(request), principal_of(request), body)
    return service_of(request).runner(body, user=user_of(request))


@post("/pause")
async def pause(request: AdminRequest, body: TargetQuestion) -> Sequence[str]:
    """Apply nothing more on these minions; their ids (`saltern pause`)."""
    return await service_of(request).pause(body.target, user=user_of(request))


@post("/resume")
async def resume(request: AdminRequest, body: TargetQuestion) -> Sequence[str]:
    """Apply what comes on these minions again; their ids (`saltern resume`)."""
    return await service_of(request).resume(body.target, user=user_of(request))


@post("/compare/master")
async def compare_with_master(request: AdminRequest, body: SaltsSide) -> MinionComparison:
    """What a Salt master compiles for a minion, compared with what is compiled here (`saltern migrate shadow`)."""
    return await service_of(request).compare_with_master(body)


@post("/confirm")
async def confirm(request: AdminRequest, body: TargetQuestion) -> Sequence[str]:
    """Keep what `apply: confirm` has applied on these minions; ids of those that waited (`saltern confirm`)."""
    return await service_of(request).confirm(body.target, user=user_of(request))


@post("/unapply")
async def unapply(request: AdminRequest, body: UnapplyQuestion) -> Sequence[str]:
    """Have minions go back from a pull request to what is live; their ids (`saltern unapply`)."""
    return await service_of(request).unapply(body.pull, body.target, user=user_of(request))


@post("/preview")
async def preview(request: AdminRequest, body: PreviewQuestion) -> AsyncIterator[PreviewItem]:
    """What moving from one ref to another would change (`saltern preview`)."""
    return service_of(request).preview(body, user=user_of(request))


@post("/adopt")
async def adopt(request: AdminRequest, body: AdoptQuestion) -> AdoptView:
    """Make commits of what a machine has and git says otherwise (`saltern adopt`)."""
    return await service_of(request).adopt(body, user=user_of(request))


@get("/events")
async def events(
    request: AdminRequest, query: EventsQuery
) -> Annotated[Stream, AsyncIterator[EventView], "text/event-stream"]:
    """Events as they happen: JSON lines, or Server-Sent Events where those are accepted (`saltern events`)."""
    pieces = event_stream.counted(request, service_of(request).events(event_stream.going_on(request, query)))
    if "text/event-stream" in request.headers.get("accept", ""):
        return event_stream.answer(pieces)
    return await encoding.open_stream(pieces)


@post("/config/reload")
async def reload(request: AdminRequest, body: ReloadQuestion) -> ReloadView:
    """Take the configuration as the files have it now (`saltern reload`)."""
    return await service_of(request).reload(check=body.check, user=user_of(request))


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
    compare_with_master,
    confirm,
    preview,
    adopt,
    pulls,
    pull_report,
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
