"""The controller process: what `controller.composition` wires is started here, and taken down in the opposite order.

Called by `saltern controller`. Holds no logic beyond starting, timers and stopping.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import structlog
from litestar import Litestar
from litestar.types import ASGIApp

from controller.access.access import Access
from controller.api.listening import admit_users
from controller.api.public import set_secrets
from controller.api.service import ControllerService
from controller.api.serving import Listening, serve
from controller.cluster.leader import is_waiting_at, serve_cluster
from controller.cluster.standby import leading
from controller.compilation.sources import open_source
from controller.composition.controller import Parts, compose
from controller.composition.metrics import send_traces
from controller.composition.reload import follow_settings
from controller.composition.shared import Resources
from controller.config.settings import ControllerSettings
from controller.observe.cluster_metrics import ClusterMetrics
from controller.observe.log.process_log import configure_log
from controller.observe.loop_stalls import StallSelector, StallWatch
from controller.observe.metrics import Metrics
from controller.observe.service_manager import tell_service_manager
from controller.salt_api import credentials as salt_api
from controller.salt_api.app import salt_api_app, set_hook_secret
from controller.schema.controller_api import ControllerApi
from controller.schema.errors import ServiceError
from controller.sessions.presence import Presence
from controller.store import Store, StoreError
from controller.store.access.audit import AuditQuery
from controller.store.exclusive_use import exclusive_use
from controller.store.leadership import Lease
from controller.web.app import web_app
from gitfs.changes import Changes
from gitfs.fetching.fork_server import ForkServer
from wire.limits import nobody
from wire.messages import Heartbeat

log = structlog.get_logger("saltern.controller")

_NEW_OBJECTS = 10_000
"""Between two looks of the collector at what is new; 700 are usual. To read a fleet makes hundreds of thousands that
live for a moment: to look at them again and again took a fifth of the time."""

PRUNE_SECONDS = 600.0
"""Between two prunings of the store."""
FIRST_HEARTBEATS = 10
"""That come each second: after a restart minions reconnect within about a second."""


def collect_seldom() -> None:
    """Have Python's collector of cycles take less of the controller's time."""
    gc.collect()
    gc.freeze()  # what is imported stays, and to look through it takes 0.1 s: messages of minions could have that done
    gc.set_threshold(_NEW_OBJECTS, 10, 10)


def main(settings: ControllerSettings, fork_server: ForkServer | None = None) -> int:
    """Run a controller until SIGTERM or SIGINT; the exit code of the process. Raises when it could not be started.

    `fork_server` is for fetches, and was started before this module was imported.
    """
    os.umask(0o077)
    configure_log(settings.log_level, settings.log_format)
    collect_seldom()
    selector = StallSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        return runner.run(_run(settings, fork_server, selector))


async def _run(settings: ControllerSettings, fork_server: ForkServer | None, selector: StallSelector) -> int:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    loop.add_signal_handler(signal.SIGHUP, _cannot_reload)
    metrics = Metrics(time.time)
    cluster = ClusterMetrics(metrics.registry)
    async with leading(settings, metrics, cluster, stop) as lease:
        if stop.is_set():
            return 0
        async with controller(settings, fork_server, selector, metrics=metrics, lease=lease) as running:
            loop.add_signal_handler(signal.SIGHUP, partial(_reload, running.service, set()))
            log.info("ready", publish_port=running.ports[0], ret_port=running.ports[1], socket=str(settings.socket))
            tell_service_manager("READY=1", "STATUS=leads" if lease else "STATUS=serves")
            await stop.wait()
            loop.add_signal_handler(signal.SIGHUP, _cannot_reload)
            log.info("stopping")
            tell_service_manager("STOPPING=1")
        return 1 if running.failed or (lease is not None and lease.lost) else 0


def _cannot_reload() -> None:
    """SIGHUP while nothing is served by this controller; without a handler it would end the process."""
    log.warning("not reloaded: this controller starts, stops, or waits for another; it reads its files when it starts")


def _reload(service: ControllerService, going_on: set[asyncio.Task[None]]) -> None:
    """SIGHUP: the same as `saltern reload`; what is wrong is told by the log."""

    async def work() -> None:
        with contextlib.suppress(ServiceError):
            await service.reload(user="SIGHUP")

    task = asyncio.create_task(work(), name="reload")
    going_on.add(task)
    task.add_done_callback(going_on.discard)


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """A controller that serves."""

    service: ControllerService
    ports: tuple[int, int]
    """Publish and request port."""
    failed: list[str]
    """Names of the tasks that ended by an error, which takes the process down."""


@contextlib.asynccontextmanager
async def controller(
    settings: ControllerSettings,
    fork_server: ForkServer | None = None,
    selector: StallSelector | None = None,
    *,
    metrics: Metrics | None = None,
    lease: Lease | None = None,
) -> AsyncIterator[Running]:
    """Start everything; take it down at the end.

    Args:
        settings: of the controller.
        fork_server: for fetches.
        selector: the loop's, where its stalls are to be measured.
        metrics: that have counted what was before.
        lease: with which it leads, where several share its database.
    """
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(exclusive_use(settings.store_url))
        metrics = metrics or Metrics(time.time)
        store = stack.enter_context(Store(settings.store_url, lease.epoch if lease else 0, metrics.process.stored))
        source = stack.enter_context(open_source(settings, fork_server, partial(metrics.limit_refused, "git")))
        changes = Changes(source.remotes, roots=source.roots)
        loop = asyncio.get_running_loop()
        source.on_news = partial(_hint, loop, changes)
        resources = Resources(
            settings=settings,
            store=store,
            source=source,
            changes=changes,
            metrics=metrics,
            is_controller=partial(is_waiting_at, lease) if lease else nobody,
        )
        parts = compose(resources)
        configure_log(settings.log_level, settings.log_format, parts.handlers.results.redactor)
        stack.push_async_callback(asyncio.to_thread, send_traces(settings, metrics))
        if selector is not None:
            stack.enter_context(StallWatch(loop, selector, parts.metrics.stalled))
        for pool in parts.pools:
            stack.callback(pool.close)
        stack.callback(parts.reactor.process.close)
        parts.server.start()
        stack.callback(parts.server.stop)
        parts.runners.end_lost()
        parts.reactor.actions.jobs.state_calls.end_unsent()
        await stack.enter_async_context(_serve(parts, lease))
        await stack.enter_async_context(changes)
        stack.push_async_callback(parts.event_log.flush)  # what the others say while they end is kept, too
        tasks = _start_tasks(parts)
        parts.runners.resume()
        stack.push_async_callback(_cancel, tasks)
        stack.push_async_callback(parts.reactor.actions.jobs.state_calls.close)
        stack.push_async_callback(parts.runners.close)
        stack.push_async_callback(parts.service.minions.batches.close)
        stack.push_async_callback(parts.reactor.actions.close)
        failed: list[str] = []
        for task in tasks:
            task.add_done_callback(partial(_die_with, failed))
        ports = (parts.server.ports.publish, parts.server.ports.request)
        yield Running(service=parts.service, ports=ports, failed=failed)


def _hint(loop: asyncio.AbstractEventLoop, changes: Changes, remote: str) -> None:
    """Have a remote fetched, from another thread; not any more while the loop ends."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(changes.pushed, remote)


@contextlib.asynccontextmanager
async def _serve(parts: Parts, lease: Lease | None) -> AsyncIterator[None]:
    """Answer people and forges, also those who come to controllers that wait."""
    settings, metrics = parts.resources.settings, parts.metrics
    mounts = port_mounts(parts.service, parts.access, settings, metrics)
    serving = serve(
        parts.service,
        parts.access,
        settings,
        metrics,
        parts.pull_requests.hint,
        is_ready=partial(_unready, parts.resources.store),
        mounts=mounts,
    )
    async with serving as listening:
        parts.service.reloads.followers += [
            partial(follow_settings, parts),
            partial(_follow_served, listening, mounts),
            lambda new: configure_log(new.log_level, new.log_format, parts.handlers.results.redactor),
        ]
        if lease is None:
            yield
            return
        async with serve_cluster(lease, listening, settings, metrics, parts.keypair):
            yield


def _follow_served(listening: Listening, mounts: Mapping[str, ASGIApp], settings: ControllerSettings) -> None:
    """Have what is served ask for the secrets of these settings, and be reached by whom they let in."""
    admit_users(listening.socket, shared=settings.access.shared)
    if listening.webhooks is not None:
        set_secrets(listening.webhooks, settings.hook_secret, settings.events_token)
    if isinstance(app := mounts.get(salt_api.PREFIX), Litestar):
        set_hook_secret(app, settings.hook_secret)


def port_mounts(
    service: ControllerApi, access: Access, settings: ControllerSettings, metrics: Metrics
) -> dict[str, ASGIApp]:
    """What the API's port serves beside `/api/v1`: prefix of paths -> application. Arguments as those of `serve`."""
    found: dict[str, ASGIApp] = {}
    if settings.api.port and settings.api.salt_api:
        refused = partial(metrics.limit_refused, "salt-api")
        found[salt_api.PREFIX] = salt_api_app(service, access, settings.limits, refused, settings.hook_secret)
    if settings.api.port and settings.api.dashboard:
        found["/"] = web_app()
    return found


async def _unready(store: Store) -> str:
    """Why the controller cannot answer people now: the database does not."""
    try:
        await asyncio.to_thread(store.audit_log.newest, AuditQuery(limit=1))
    except StoreError as error:
        return str(error)
    return ""


def _start_tasks(parts: Parts) -> list[asyncio.Task[None]]:
    settings = parts.resources.settings
    presence = Presence(parts.handlers.context.bus, parts.handlers.context.sessions)
    return [
        *([asyncio.create_task(presence.run(), name="presence")] if settings.presence_events else []),
        asyncio.create_task(parts.reconciler.run(), name="reconcile"),
        asyncio.create_task(parts.rollouts.run(), name="rollouts"),
        asyncio.create_task(parts.minion_rollbacks.restore(), name="held revisions"),
        asyncio.create_task(parts.unconfirmed.run(), name="unconfirmed minions"),
        asyncio.create_task(parts.fleet_status.run(), name="fleet status"),
        asyncio.create_task(parts.notifier.run(), name="notifications"),
        asyncio.create_task(parts.builds.run(), name="build"),
        asyncio.create_task(parts.compile_audit.run(), name="compile audit"),
        asyncio.create_task(parts.sources.follow(parts.resources.changes), name="git"),
        asyncio.create_task(_send_heartbeats(parts, settings.alive_interval), name="heartbeat"),
        asyncio.create_task(parts.handlers.expire_sessions(), name="sessions"),
        asyncio.create_task(parts.handlers.answers.files.run(), name="files"),
        asyncio.create_task(parts.handlers.take_waiting_mines(), name="mines"),
        asyncio.create_task(parts.event_log.run(), name="events"),
        asyncio.create_task(parts.pull_requests.run(), name="pull requests"),
        asyncio.create_task(parts.reactor.run(), name="reactor"),
        asyncio.create_task(parts.returners.run(), name="returners"),
        asyncio.create_task(parts.schedule.run(), name="schedule"),
        asyncio.create_task(parts.engines.run(), name="engines"),
        asyncio.create_task(parts.service.ssh.serve(), name="ssh"),
        asyncio.create_task(parts.service.agents.run(), name="agents"),
        asyncio.create_task(_prune(parts), name="prune"),
    ]


async def _send_heartbeats(parts: Parts, interval: float) -> None:
    """Tell everyone that we are here; a new epoch makes them say hello again."""
    serial = 0
    while True:
        serial += 1
        parts.server.publish(Heartbeat(epoch=parts.epoch, serial=serial, time=time.time()))
        await asyncio.sleep(1.0 if serial < FIRST_HEARTBEATS else interval)


async def _prune(parts: Parts) -> None:
    """Forget old runs and events now and then."""
    while True:
        await asyncio.sleep(PRUNE_SECONDS)
        settings, keep_runs = parts.resources.settings, parts.handlers.results.keep_runs
        await asyncio.to_thread(parts.resources.store.prune, keep_runs, settings.limits.minion.result_bytes)
        most = settings.limits.reactor.durable_events
        if forgotten := await asyncio.to_thread(parts.event_log.prune, most):
            log.warning("durable events forgotten: over the limit `durable_events`", count=forgotten)
            parts.metrics.limit_refused("reactor", "durable-events", forgotten)
            parts.handlers.context.bus.publish("saltern/events/forgotten", {"count": forgotten})


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
