"""Wires what people ask: function calls, previews, and the service behind the API."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial

from controller.adoption.adoptions import Adoptions
from controller.api.key_changes import KeyChanges
from controller.api.lookups import Lookups
from controller.api.service import ControllerService, FleetChanges, GitSources, MinionActions, ServedKeys, Telemetry
from controller.composition.agents import compose_agents
from controller.composition.compilation import CompilationParts
from controller.composition.reconcile import compose_status
from controller.composition.rollouts import FleetParts
from controller.composition.shared import Shared
from controller.composition.ssh import compose_ssh
from controller.config.forges import compare_page
from controller.engines.engines import Engines
from controller.fleet_status.fleet_status import FleetStatus
from controller.jobs.batches import Batches
from controller.jobs.job_returners import ReturnerRequests
from controller.jobs.jobs import Jobs
from controller.jobs.opened_jobs import OpenedJobs
from controller.jobs.state_calls import StateCalls
from controller.jobs.tree_returners import TreeReturners
from controller.messages.key_rotations import KeyRotations
from controller.messages.message_handlers import MessageHandlers
from controller.notifications.notifier import Notifier
from controller.notifications.views import NotificationViews
from controller.preview.live.live_facts import PreviewCompiles
from controller.preview.live_runs import LiveTestRuns
from controller.preview.pairs import SideCompiles
from controller.preview.preview import Previews
from controller.preview.report_archive import ReportArchive
from controller.preview.sides.revisions import RevisionTrees
from controller.preview.sides.trees import SideTrees
from controller.preview.threads import PreviewThreads
from controller.pull_requests.reconciler import PullRequests
from controller.reconcile.reconciler import Reconciler
from controller.reload.config_metrics import ConfigMetrics
from controller.reload.config_reloads import ConfigReloads
from controller.report.links import ReportLinks, link_key
from controller.returners.returners import Returners
from controller.runners.runner_jobs import RunnerJobs
from controller.schedules.controller_schedule import ControllerSchedule
from wire.server.server import Server

_PREVIEW_THREADS = 2
_REPORT_THREADS = 2


def compose_actions(
    shared: Shared, server: Server, reconciler: Reconciler, compilation: CompilationParts, handlers: MessageHandlers
) -> MinionActions:
    """What people have minions do."""
    resources = shared.resources
    returners = ReturnerRequests(
        settings=resources.settings.returners,
        limits=resources.settings.limits.returner,
        tree=TreeReturners(shared.live),
    )
    jobs = Jobs(
        store=resources.store,
        sessions=shared.sessions,
        server=server,
        ids=shared.ids,
        metrics=shared.metrics,
        clock=shared.clock,
        reconciler=reconciler,
        bus=shared.bus,
        waiters=handlers.results.waiters,
        watchers=handlers.results.watchers,
        state_calls=_state_calls(shared, server, compilation, handlers, returners),
        returners=returners,
        opened=OpenedJobs(
            store=resources.store,
            sessions=shared.sessions,
            redactor=shared.redactor,
            bus=shared.bus,
            clock=shared.clock,
        ),
    )
    previews = _previews(shared, compilation, jobs)
    return MinionActions(
        targets=shared.targets,
        reconciler=reconciler,
        jobs=jobs,
        batches=Batches(
            jobs=jobs,
            most=resources.settings.limits.api.batches_at_once,
            on_refusal=partial(shared.metrics.limit_refused, "api"),
        ),
        previews=previews,
        adoptions=Adoptions(
            reports=compose_status(shared, reconciler),
            source=resources.source,
            previews=previews,
            facts=compilation.builds.facts,
            limits=resources.settings.limits.adoption,
            on_refusal=partial(shared.metrics.limit_refused, "adoption"),
            clock=shared.clock,
            page=partial(compare_page, resources.settings.forges),
        ),
        reports=_reports(shared),
    )


def _state_calls(
    shared: Shared,
    server: Server,
    compilation: CompilationParts,
    handlers: MessageHandlers,
    returners: ReturnerRequests,
) -> StateCalls:
    return StateCalls(
        returners=returners,
        compiler=compilation.states,
        store=shared.resources.store,
        sessions=shared.sessions,
        server=server,
        metrics=shared.metrics,
        finish=handlers.results.answer_here,
        limits=shared.resources.settings.limits.state_call,
    )


def compose_key_changes(shared: Shared, server: Server, compilation: CompilationParts) -> KeyChanges:
    """What lists and changes keys."""
    return KeyChanges(
        store=shared.resources.store,
        keyring=shared.keyring,
        sessions=shared.sessions,
        server=server,
        builds=compilation.builds,
        bus=shared.bus,
        clock=shared.clock,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedParts:
    """Parts of the controller that people ask, beside minions and compiles."""

    keys: KeyChanges
    rotations: KeyRotations
    pull_requests: PullRequests
    runners: RunnerJobs
    schedule: ControllerSchedule
    engines: Engines
    returners: Returners
    fleet: FleetParts
    fleet_status: FleetStatus
    notifier: Notifier


def compose_service(
    shared: Shared, compilation: CompilationParts, actions: MinionActions, parts: ServedParts
) -> ControllerService:
    """The implementation of `ControllerApi`."""
    resources = shared.resources
    return ControllerService(
        store=resources.store,
        state=compose_status(shared, actions.reconciler),
        key_pairs=ServedKeys(
            changes=parts.keys, own=shared.keypair, tokens=shared.enrolment_tokens, rotations=parts.rotations
        ),
        git=GitSources(
            source=resources.source,
            changes=resources.changes,
            live=shared.live,
            reconciler=compilation.sources,
            builds=compilation.builds,
        ),
        minions=actions,
        pull_requests=parts.pull_requests,
        runners=parts.runners,
        scheduled=parts.schedule,
        running_engines=parts.engines,
        telemetry=Telemetry(
            bus=shared.bus,
            event_log=shared.event_log,
            metrics=shared.metrics,
            returners=parts.returners,
            executor=compilation.executor,
            notifications=NotificationViews(notifier=parts.notifier, receivers=resources.settings.receivers),
        ),
        fleet=FleetChanges(
            rollouts=parts.fleet.rollouts,
            quarantine=parts.fleet.quarantine,
            minion_rollbacks=parts.fleet.minion_rollbacks,
            status=parts.fleet_status,
        ),
        reloads=ConfigReloads(
            started=resources.settings,
            bus=shared.bus,
            metrics=ConfigMetrics(shared.metrics.registry, shared.clock),
        ),
        lookups=Lookups(
            at_once=resources.settings.limits.api.lookups_at_once,
            most=resources.settings.limits.api.lookups,
            on_refusal=partial(shared.metrics.limit_refused, "api"),
        ),
        ssh=compose_ssh(shared, parts.keys, actions.reconciler),
        agents=compose_agents(shared, parts.keys, actions.jobs, actions.reconciler),
    )


def _previews(shared: Shared, compilation: CompilationParts, jobs: Jobs) -> Previews:
    limits = shared.resources.settings.limits.preview
    on_refusal = partial(shared.metrics.limit_refused, "preview")
    threads = PreviewThreads(ThreadPoolExecutor(max_workers=_PREVIEW_THREADS, thread_name_prefix="preview"))
    pool = compilation.preview_pool
    return Previews(
        name=shared.controller_name,
        source=shared.resources.source,
        trees=SideTrees(
            source=shared.resources.source,
            revisions=RevisionTrees(
                source=shared.resources.source, store=shared.resources.store, live=compilation.requests.live
            ),
            threads=threads,
        ),
        sides=SideCompiles(
            compiles=PreviewCompiles(pool, compilation.builds.facts, pool.processes),
            requests=compilation.requests,
            index=compilation.builds.builder.dependency_index,
            run_programs=shared.resources.settings.preview_py_renderer,
            limits=limits,
            threads=threads,
            on_refusal=on_refusal,
        ),
        tests=LiveTestRuns(
            jobs=jobs,
            documents=shared.documents,
            files=shared.files,
            store=shared.resources.store,
            threads=threads,
            on_refusal=on_refusal,
        ),
        targets=shared.targets,
        requests=compilation.requests,
        documents=shared.documents,
        jobs=jobs,
        redactor=shared.redactor,
        limits=limits,
        on_refusal=on_refusal,
        threads=threads,
    )


def _reports(shared: Shared) -> ReportArchive:
    settings = shared.resources.settings
    limits = settings.limits.report
    key = link_key(shared.keypair.secret.encode())
    return ReportArchive(
        store=shared.resources.store,
        links=ReportLinks(address=settings.public_url, key=key, lifetime=limits.kept_seconds),
        limits=limits,
        threads=ThreadPoolExecutor(max_workers=_REPORT_THREADS, thread_name_prefix="report"),
        clock=shared.clock,
        on_refusal=partial(shared.metrics.limit_refused, "report"),
    )
