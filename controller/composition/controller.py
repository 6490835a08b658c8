"""A whole controller, wired and not started. Called by `controller.app`."""

from __future__ import annotations

from dataclasses import dataclass

from controller.access.access import Access
from controller.api.service import ControllerService, MinionActions
from controller.compilation.audit.compile_audit import CompileAudit
from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.compile_pool import CompilePool
from controller.compilation.source_reconciler import SourceReconciler
from controller.composition.access import ServicePeerWork, compose_access
from controller.composition.api import ServedParts, compose_actions, compose_key_changes, compose_service
from controller.composition.compilation import compose_compilation
from controller.composition.fleet_status import compose_fleet_status
from controller.composition.messages import WireParts, compose_handlers, compose_wire
from controller.composition.metrics import ScrapedParts, compose_metrics
from controller.composition.notifications import compose_notifications
from controller.composition.pull_requests import compose_pull_requests
from controller.composition.reactions import compose_reactor
from controller.composition.reconcile import compose_reconciler
from controller.composition.returners import compose_returners
from controller.composition.rollouts import compose_rollouts
from controller.composition.runners import compose_engines, compose_runners
from controller.composition.shared import Resources, Shared, share
from controller.engines.engines import Engines
from controller.fleet_status.fleet_status import FleetStatus
from controller.messages.message_handlers import MessageHandlers
from controller.notifications.notifier import Notifier
from controller.observe.event_log import EventLog
from controller.observe.metrics import Metrics
from controller.pull_requests.reconciler import PullRequests
from controller.reactions.reactor import Reactor
from controller.reconcile.reconciler import Reconciler
from controller.returners.returners import Returners
from controller.rollouts.minion_rollbacks import MinionRollbacks
from controller.rollouts.rollouts import RolloutReconciler
from controller.rollouts.unconfirmed import UnconfirmedMinions
from controller.runners.runner_jobs import RunnerJobs
from controller.schedules.controller_schedule import ControllerSchedule
from controller.schedules.switches import Switches
from controller.sessions.room import Room
from wire.keys import KeyPair
from wire.server.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A controller that is wired and not started."""

    resources: Resources
    epoch: str
    keypair: KeyPair
    metrics: Metrics
    event_log: EventLog
    server: Server
    pools: tuple[CompilePool, ...]
    builds: BuildReconciler
    compile_audit: CompileAudit
    sources: SourceReconciler
    reconciler: Reconciler
    rollouts: RolloutReconciler
    minion_rollbacks: MinionRollbacks
    unconfirmed: UnconfirmedMinions
    fleet_status: FleetStatus
    notifier: Notifier
    handlers: MessageHandlers
    service: ControllerService
    pull_requests: PullRequests
    runners: RunnerJobs
    reactor: Reactor
    returners: Returners
    schedule: ControllerSchedule
    engines: Engines
    access: Access


def compose(resources: Resources) -> Parts:
    """Make all parts. Must be called on the loop that they will run on."""
    shared = share(resources)
    wire = compose_wire(shared)
    room = Room(wire.server.has_room, wire.backpressure.is_behind)
    reconciler = compose_reconciler(shared, wire.server, room)
    fleet = compose_rollouts(shared, reconciler)
    compilation = compose_compilation(shared, wire.server, reconciler, fleet)
    access = compose_access(shared)
    handlers = compose_handlers(shared, wire, reconciler, compilation, access)
    actions = compose_actions(shared, wire.server, reconciler, compilation, handlers)
    pull_requests = compose_pull_requests(shared, actions.previews, actions.reports, reconciler)
    key_changes = compose_key_changes(shared, wire.server, compilation)
    runners = compose_runners(shared, compilation, actions.jobs, key_changes)
    handlers.answers.peers.work = ServicePeerWork(targets=shared.targets, jobs=actions.jobs, runners=runners)
    returners = compose_returners(shared)
    schedule = _compose_schedule(shared, runners, actions)
    engines = compose_engines(shared, runners)
    fleet_status = compose_fleet_status(shared, reconciler, compilation, fleet)
    served = ServedParts(
        rotations=handlers.keys.rotations,
        keys=key_changes,
        pull_requests=pull_requests,
        runners=runners,
        schedule=schedule,
        engines=engines,
        returners=returners,
        fleet=fleet,
        fleet_status=fleet_status,
        notifier=compose_notifications(shared, fleet, fleet_status),
    )
    wire.backpressure.attach(wire.server, handlers.deliver)
    parts = Parts(
        resources=resources,
        epoch=shared.epoch,
        keypair=shared.keypair,
        metrics=shared.metrics,
        event_log=shared.event_log,
        server=wire.server,
        pools=(compilation.pool, compilation.preview_pool),
        builds=compilation.builds,
        compile_audit=compilation.audit,
        sources=compilation.sources,
        reconciler=reconciler,
        rollouts=fleet.rollouts,
        minion_rollbacks=fleet.minion_rollbacks,
        unconfirmed=fleet.unconfirmed,
        fleet_status=fleet_status,
        notifier=served.notifier,
        handlers=handlers,
        service=compose_service(shared, compilation, actions, served),
        pull_requests=pull_requests,
        runners=runners,
        returners=returners,
        reactor=compose_reactor(shared, compilation, actions.jobs, runners, reconciler, returners),
        engines=engines,
        schedule=schedule,
        access=access,
    )
    return _watched(shared, wire, room, parts)


def _watched(shared: Shared, wire: WireParts, room: Room, parts: Parts) -> Parts:
    """The parts, at which the metrics look."""
    scraped = ScrapedParts(
        wire=wire,
        room=room,
        reconciler=parts.reconciler,
        builds=parts.builds,
        reactor=parts.reactor,
        status=parts.service.state,
        fleet_status=parts.fleet_status,
    )
    compose_metrics(shared, scraped)
    return parts


def _compose_schedule(shared: Shared, runners: RunnerJobs, actions: MinionActions) -> ControllerSchedule:
    """What runs jobs at times."""
    settings = shared.resources.settings
    return ControllerSchedule(
        file=settings.cachedir / "schedule.json",
        switches=Switches(settings.cachedir / "schedule.switches.json"),
        own=settings.schedule,
        live=shared.live,
        runners=runners,
        jobs=actions.jobs,
        targets=shared.targets,
        bus=shared.bus,
        clock=shared.clock,
    )
