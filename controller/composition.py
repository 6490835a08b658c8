"""The composition root: every part of a controller is made and wired here, by hand. Called by `controller.app`.

Nothing is started here; a part gets what it needs as an argument, and parts that know each other both ways are attached
at the end.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from controller.adapters.sdb import Profiles
from controller.api.service import ControllerService
from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.builder import Builder
from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_ports import plugins_of, ports_of
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.compilation.runners import Runners
from controller.compilation.sandbox_policy import sandbox_policy_of
from controller.compilation.source_reconciler import SourceReconciler
from controller.config.sections import PortOptions
from controller.config.settings import ControllerSettings
from controller.jids import Jids
from controller.observe.event_log import EventLog
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.preview.preview import Previews
from controller.reconcile.documents import Documents
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.sessions.after_commit import AfterCommit
from controller.sessions.backpressure import Backpressure
from controller.sessions.file_server import FileServer
from controller.sessions.jobs import Jobs
from controller.sessions.message_handlers import MessageHandlers
from controller.sessions.run_results import RunResults
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.sessions.targets import Targets
from controller.store import Store
from gitfs.changes import Changes
from gitfs.source import Source
from highstate.ports import Decrypt
from reactors.bus import Bus
from wire.address import Bind
from wire.keys import KeyPair, load_or_create
from wire.server.server import Server


@dataclass(frozen=True, slots=True, kw_only=True)
class Resources:
    """What a controller opens first, and closes last."""

    settings: ControllerSettings
    store: Store
    source: Source
    changes: Changes


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """Parts that know nothing of each other, and that the others share."""

    resources: Resources
    clock: Callable[[], float]
    epoch: str
    """Of this controller's life."""
    keypair: KeyPair
    keyring: KeyRegistry
    sessions: Sessions
    live: LiveRevision
    metrics: Metrics
    bus: Bus
    event_log: EventLog
    files: FileServer
    documents: Documents
    redactor: Redactor
    targets: Targets
    ids: Jids


@dataclass(frozen=True, slots=True, kw_only=True)
class WireParts:
    """The sockets, and what takes from them."""

    server: Server
    backpressure: Backpressure


@dataclass(frozen=True, slots=True, kw_only=True)
class CompilationParts:
    """From trees to documents."""

    pool: CompilePool
    requests: CompileRequests
    mines: MineStore
    builds: BuildReconciler
    sources: SourceReconciler


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A controller that is wired and not started."""

    resources: Resources
    epoch: str
    metrics: Metrics
    event_log: EventLog
    server: Server
    pool: CompilePool
    builds: BuildReconciler
    sources: SourceReconciler
    reconciler: Reconciler
    handlers: MessageHandlers
    service: ControllerService


def compose(resources: Resources) -> Parts:
    """Make all parts. Must be called on the loop that they will run on."""
    shared = _shared(resources)
    wire = _wire(shared)
    reconciler = _reconciler(shared, wire)
    compilation = _compilation(shared, wire, reconciler)
    handlers = _handlers(shared, wire, reconciler, compilation)
    wire.backpressure.attach(wire.server, handlers.deliver)
    return Parts(
        resources=resources,
        epoch=shared.epoch,
        metrics=shared.metrics,
        event_log=shared.event_log,
        server=wire.server,
        pool=compilation.pool,
        builds=compilation.builds,
        sources=compilation.sources,
        reconciler=reconciler,
        handlers=handlers,
        service=_service(shared, wire, reconciler, compilation, handlers),
    )


def _shared(resources: Resources) -> Shared:
    settings, store = resources.settings, resources.store
    clock: Callable[[], float] = time.time
    keypair = load_or_create(settings.pki_dir / "controller.key")
    documents = Documents(store)
    bus = Bus(clock, last=store.events.last_id())
    nodegroups = dict(settings.language.nodegroups)
    return Shared(
        resources=resources,
        clock=clock,
        epoch=uuid.uuid4().hex,
        keypair=keypair,
        keyring=KeyRegistry(store.keys.all()),
        sessions=Sessions(),
        live=LiveRevision(),
        metrics=Metrics(clock),
        bus=bus,
        event_log=EventLog(store, bus, clock),
        files=FileServer(),
        documents=documents,
        redactor=Redactor(store, keypair.secret),
        targets=Targets(store=store, documents=documents, nodegroups=nodegroups),
        ids=Jids(clock),
    )


def _wire(shared: Shared) -> WireParts:
    settings = shared.resources.settings
    backpressure = Backpressure(asyncio.get_running_loop())
    bind = Bind(host=settings.interface, publish_port=settings.publish_port, request_port=settings.ret_port)
    server = Server(bind, shared.keypair, shared.keyring, backpressure.put)
    return WireParts(server=server, backpressure=backpressure)


def _reconciler(shared: Shared, wire: WireParts) -> Reconciler:
    return Reconciler(
        store=shared.resources.store,
        sessions=shared.sessions,
        server=wire.server,
        documents=shared.documents,
        bus=shared.bus,
        metrics=shared.metrics,
        ids=shared.ids,
        clock=shared.clock,
        run_timeout=shared.resources.settings.run_timeout,
        live=shared.live,
    )


def _compilation(shared: Shared, wire: WireParts, reconciler: Reconciler) -> CompilationParts:
    settings, store = shared.resources.settings, shared.resources.store
    mines = MineStore(
        store=store,
        pillar_of=shared.targets.pillar_of,
        nodegroups=shared.targets.nodegroups,
        keys_version=partial(_fleet_version, shared.keyring, shared.sessions),
    )
    runners = Runners(
        store=store,
        sessions=shared.sessions,
        mines=mines,
        plugins=partial(plugins_of, settings.ports),
        profiles=Profiles(settings.sdb, partial(_decrypt_of, settings.ports)),
    )
    pool = CompilePool(
        workers=settings.compile_workers,
        timeout=settings.compile_timeout,
        sandbox_policy=sandbox_policy_of(settings),
        fleet=runners.answer,
    )
    requests = CompileRequests(
        store=store,
        live=shared.live,
        language=settings.language,
        ports=settings.ports,
        check_rate=settings.compile_check_rate,
    )
    builds = _builds(
        shared,
        wire,
        requests,
        Builder(
            compiler=pool,
            store=store,
            bus=shared.bus,
            metrics=shared.metrics,
            clock=shared.clock,
            reconciler=reconciler,
            mines=mines,
            redactor=shared.redactor,
        ),
        runners,
    )
    sources = _sources(shared, builds, reconciler)
    return CompilationParts(pool=pool, requests=requests, mines=mines, builds=builds, sources=sources)


def _builds(
    shared: Shared, wire: WireParts, requests: CompileRequests, builder: Builder, runners: Runners
) -> BuildReconciler:
    facts = FactQueries(
        store=shared.resources.store,
        sessions=shared.sessions,
        server=wire.server,
        metrics=shared.metrics,
        clock=shared.clock,
        live=shared.live,
    )
    return BuildReconciler(
        builder=builder,
        facts=facts,
        mines=runners.mines,
        runners=runners,
        requests=requests,
        live=shared.live,
        sessions=shared.sessions,
        bus=shared.bus,
        clock=shared.clock,
        refresh_seconds=shared.resources.settings.pillar_cache_ttl,
    )


def _sources(shared: Shared, builds: BuildReconciler, reconciler: Reconciler) -> SourceReconciler:
    return SourceReconciler(
        source=shared.resources.source,
        live=shared.live,
        builds=builds,
        store=shared.resources.store,
        reconciler=reconciler,
        files=shared.files,
        bus=shared.bus,
        metrics=shared.metrics,
        clock=shared.clock,
    )


def _handlers(
    shared: Shared, wire: WireParts, reconciler: Reconciler, compilation: CompilationParts
) -> MessageHandlers:
    settings, after_commit = shared.resources.settings, AfterCommit()
    return MessageHandlers(
        store=shared.resources.store,
        sessions=shared.sessions,
        keyring=shared.keyring,
        server=wire.server,
        reconciler=reconciler,
        bus=shared.bus,
        metrics=shared.metrics,
        files=shared.files,
        builds=compilation.builds,
        mines=compilation.mines,
        redactor=shared.redactor,
        clock=shared.clock,
        epoch=shared.epoch,
        alive_interval=settings.alive_interval,
        auto_accept=settings.auto_accept,
        results=_results(shared, reconciler, after_commit),
        after_commit=after_commit,
    )


def _results(shared: Shared, reconciler: Reconciler, after_commit: AfterCommit) -> RunResults:
    return RunResults(
        store=shared.resources.store,
        sessions=shared.sessions,
        reconciler=reconciler,
        bus=shared.bus,
        metrics=shared.metrics,
        redactor=shared.redactor,
        clock=shared.clock,
        keep_runs=shared.resources.settings.keep_runs,
        after_commit=after_commit,
    )


def _service(
    shared: Shared, wire: WireParts, reconciler: Reconciler, compilation: CompilationParts, handlers: MessageHandlers
) -> ControllerService:
    resources = shared.resources
    jobs = Jobs(
        store=resources.store,
        sessions=shared.sessions,
        server=wire.server,
        ids=shared.ids,
        metrics=shared.metrics,
        clock=shared.clock,
        waiters=handlers.results.waiters,
        watchers=handlers.results.watchers,
    )
    return ControllerService(
        store=resources.store,
        sessions=shared.sessions,
        keyring=shared.keyring,
        server=wire.server,
        keypair=shared.keypair,
        source=resources.source,
        changes=resources.changes,
        live=shared.live,
        sources=compilation.sources,
        builds=compilation.builds,
        reconciler=reconciler,
        state=_status(shared, reconciler),
        targets=shared.targets,
        jobs=jobs,
        previews=_previews(shared, compilation, jobs),
        bus=shared.bus,
        event_log=shared.event_log,
        clock=shared.clock,
    )


def _status(shared: Shared, reconciler: Reconciler) -> Status:
    return Status(
        store=shared.resources.store,
        sessions=shared.sessions,
        reconciler=reconciler,
        documents=shared.documents,
        redactor=shared.redactor,
    )


def _previews(shared: Shared, compilation: CompilationParts, jobs: Jobs) -> Previews:
    return Previews(
        source=shared.resources.source,
        compiler=compilation.pool,
        requests=compilation.requests,
        documents=shared.documents,
        jobs=jobs,
        redactor=shared.redactor,
        files=shared.files,
        run_programs=shared.resources.settings.preview_py_renderer,
    )


def _fleet_version(keyring: KeyRegistry, sessions: Sessions) -> int:
    """Another number whenever other keys are accepted, or others are connected."""
    return keyring.version + sessions.version


def _decrypt_of(options: PortOptions) -> Decrypt | None:
    return ports_of(options).decrypt
