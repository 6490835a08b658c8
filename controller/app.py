"""The controller process: everything is made and wired here, by hand, and taken down in the opposite order.

Called by `saltern controller`. Holds no logic beyond starting, ticking and stopping.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NoReturn

import structlog

from controller.adapters.sdb import Profiles
from controller.api import serve
from controller.api.service import ControllerService
from controller.compilation.builder import Builder
from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_ports import plugins_of, ports_of
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.compilation.runners import Runners
from controller.compilation.sandbox_policy import sandbox_policy_of
from controller.compilation.source_reconciler import SourceReconciler
from controller.compilation.sources import open_source
from controller.config.settings import ControllerSettings
from controller.jids import Jids
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.preview.preview import Previews
from controller.reconcile.documents import Documents
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.status import Status
from controller.sessions.backpressure import Backpressure
from controller.sessions.file_server import FileServer
from controller.sessions.jobs import Jobs
from controller.sessions.message_handlers import MessageHandlers
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.sessions.targets import Targets
from controller.store import Store
from gitfs.changes import Changes
from gitfs.source import Source
from reactors.bus import Bus
from wire.address import Bind
from wire.keys import load_or_create
from wire.messages import Heartbeat
from wire.server.server import Server

log = structlog.get_logger("saltern.controller")

HOUSEKEEPING_SECONDS = 1.0
PRUNE_SECONDS = 600.0


def main(settings: ControllerSettings) -> NoReturn:
    """Run a controller until SIGTERM or SIGINT. Ends the process; raises when it could not be started."""
    os.umask(0o077)
    _configure_log(settings.log_level)
    asyncio.run(_run(settings))
    raise AssertionError("a controller leaves by itself")


def _configure_log(level: str) -> None:
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            structlog.processors.LogfmtRenderer(key_order=["timestamp", "level", "event"], drop_missing=True),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.WriteLoggerFactory(file=sys.stderr),
    )


async def _run(settings: ControllerSettings) -> NoReturn:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    async with controller(settings) as running:
        log.info("ready", publish_port=running.ports[0], ret_port=running.ports[1], socket=str(settings.socket))
        await stop.wait()
        log.info("stopping")
    # All is closed. What is left are threads, of a remote that hangs for example, for which Python would wait.
    sys.stderr.flush()
    os._exit(1 if running.failed else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A controller that serves."""

    service: ControllerService
    ports: tuple[int, int]
    """Publish and request port."""
    failed: list[str]
    """Names of the tasks that ended by an error, which takes the process down."""


@contextlib.asynccontextmanager
async def controller(settings: ControllerSettings) -> AsyncIterator[Running]:
    """Start everything; take it down at the end."""
    async with contextlib.AsyncExitStack() as stack:
        store = stack.enter_context(Store(settings.store_url))
        source = stack.enter_context(open_source(settings))
        changes = Changes(source.remotes, roots=source.roots)
        compiler = CompilePool(
            workers=settings.compile_workers,
            timeout=settings.compile_timeout,
            sandbox_policy=sandbox_policy_of(settings),
        )
        stack.callback(compiler.close)
        parts = _wire_up(settings, store, source, changes, compiler)
        parts.server.start()
        stack.callback(parts.server.stop)
        parts.metrics.watch_minions(parts.service.state.samples)
        await stack.enter_async_context(serve(parts.service, settings, parts.metrics))
        await stack.enter_async_context(changes)
        tasks = [
            asyncio.create_task(parts.loop.run(), name="reconcile"),
            asyncio.create_task(parts.revisions.follow(changes), name="git"),
            asyncio.create_task(_beat(parts, settings), name="beat"),
            asyncio.create_task(_keep_house(parts, store, settings), name="housekeeping"),
        ]
        stack.push_async_callback(_cancel, tasks)
        failed: list[str] = []
        for task in tasks:
            task.add_done_callback(partial(_die_with, failed))
        ports = (parts.server.ports.publish, parts.server.ports.request)
        yield Running(service=parts.service, ports=ports, failed=failed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parts:
    service: ControllerService
    server: Server
    loop: Reconciler
    handlers: MessageHandlers
    facts: FactQueries
    mines: MineStore
    runners: Runners
    revisions: SourceReconciler
    metrics: Metrics
    epoch: str


def _wire_up(
    settings: ControllerSettings, store: Store, source: Source, changes: Changes, compiler: CompilePool
) -> _Parts:
    clock: Callable[[], float] = time.time
    epoch = uuid.uuid4().hex
    keypair = load_or_create(settings.pki_dir / "controller.key")
    metrics, bus, sessions, files = Metrics(clock), Bus(clock), Sessions(), FileServer()
    redactor = Redactor(store, keypair.secret)
    keyring, documents, ids = KeyRegistry(store.keys.all()), Documents(store), Jids(clock)
    running = asyncio.get_running_loop()

    backpressure = Backpressure(running, lambda batch: handlers.deliver(batch))
    bind = Bind(host=settings.interface, publish_port=settings.publish_port, request_port=settings.ret_port)
    backpressure.server = server = Server(bind, keypair, keyring, backpressure.put)
    loop = Reconciler(
        store=store,
        sessions=sessions,
        server=server,
        documents=documents,
        bus=bus,
        metrics=metrics,
        ids=ids,
        clock=clock,
        run_timeout=settings.run_timeout,
    )
    facts = FactQueries(
        store=store,
        sessions=sessions,
        server=server,
        metrics=metrics,
        clock=clock,
        askable=lambda: loop.policy.facts,
        ready=lambda minion: revisions.due(minion),
    )
    targets = Targets(store=store, documents=documents, nodegroups=dict(settings.language.get("nodegroups", {})))
    mines = MineStore(
        store=store,
        pillar_of=targets.pillar_of,
        nodegroups=targets.nodegroups,
        keys_version=lambda: keyring.version + sessions.version,
    )
    runners = Runners(
        store=store,
        sessions=sessions,
        mines=mines,
        plugins=lambda: plugins_of(settings.ports),
        profiles=Profiles(settings.sdb, lambda: ports_of(settings.ports).decrypt),
    )
    compiler.know = runners.hear
    builder = Builder(
        compiler=compiler,
        store=store,
        bus=bus,
        metrics=metrics,
        clock=clock,
        wake=loop.wake,
        facts=facts,
        mines=mines,
        redactor=redactor,
        refresh_seconds=settings.pillar_cache_ttl,
    )
    revisions = SourceReconciler(
        source=source,
        builder=builder,
        store=store,
        loop=loop,
        files=files,
        bus=bus,
        metrics=metrics,
        clock=clock,
        language=settings.language,
        ports=settings.ports,
        check_rate=settings.compile_check_rate,
    )
    handlers = MessageHandlers(
        store=store,
        sessions=sessions,
        keyring=keyring,
        server=server,
        loop=loop,
        bus=bus,
        metrics=metrics,
        files=files,
        facts=facts,
        mines=mines,
        redactor=redactor,
        clock=clock,
        epoch=epoch,
        alive_interval=settings.alive_interval,
        auto_accept=settings.auto_accept,
        keep_runs=settings.keep_runs,
        recompile=revisions.stale,
        live_revision=lambda: revisions.live_digest,
    )
    calls = Jobs(
        store=store,
        sessions=sessions,
        server=server,
        ids=ids,
        metrics=metrics,
        clock=clock,
        waiters=handlers.waiters,
        watchers=handlers.watchers,
    )
    service = ControllerService(
        store=store,
        sessions=sessions,
        keyring=keyring,
        server=server,
        keypair=keypair,
        source=source,
        changes=changes,
        revisions=revisions,
        loop=loop,
        state=Status(store=store, sessions=sessions, loop=loop, documents=documents, redactor=redactor),
        targets=targets,
        calls=calls,
        previews=Previews(
            source=source,
            revisions=revisions,
            documents=documents,
            calls=calls,
            redactor=redactor,
            files=files,
            run_programs=settings.preview_py_renderer,
        ),
        bus=bus,
        clock=clock,
    )
    return _Parts(
        service=service,
        server=server,
        loop=loop,
        handlers=handlers,
        facts=facts,
        mines=mines,
        runners=runners,
        revisions=revisions,
        metrics=metrics,
        epoch=epoch,
    )


async def _beat(parts: _Parts, settings: ControllerSettings) -> None:
    """Tell everyone that we are here; a new epoch makes them say hello again."""
    serial = 0
    while True:
        serial += 1
        parts.server.publish(Heartbeat(epoch=parts.epoch, serial=serial, time=time.time()))
        # The first beats come quickly: after a restart minions reconnect within about a second.
        await asyncio.sleep(1.0 if serial < 10 else settings.alive_interval)


async def _keep_house(parts: _Parts, store: Store, settings: ControllerSettings) -> None:
    """Notice silent minions; forget old runs now and then."""
    pruned = time.monotonic()
    while True:
        await asyncio.sleep(HOUSEKEEPING_SECONDS)
        parts.revisions.refresh()
        if changed := parts.mines.settle(parts.runners.hear):
            parts.revisions.due(*changed)
        parts.facts.ask_due(parts.loop.policy.drift.interval)
        parts.handlers.silence(time.time() - settings.minion_timeout)
        if time.monotonic() - pruned > PRUNE_SECONDS:
            pruned = time.monotonic()
            await asyncio.to_thread(store.prune, settings.keep_runs)


def _die_with(failed: list[str], task: asyncio.Task[None]) -> None:
    """A task of the controller that ends by an error takes the process down: a supervisor starts it afresh."""
    if not task.cancelled() and (error := task.exception()) is not None:
        log.critical("internal error", task=task.get_name(), exc_info=error)
        failed.append(task.get_name())
        os.kill(os.getpid(), signal.SIGTERM)


async def _cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
