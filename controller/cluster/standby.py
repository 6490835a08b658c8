"""A controller that waits until it leads: meanwhile minions, people and hooks reach the leader through it.

Run by `controller.app`. Opens no store, compiles nothing, decides nothing. It looks twice a second who leads, and gives
up its ports and its socket before it leads itself.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from functools import partial

import structlog
from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send

from controller.api.port.gate import PortGate, RequestPace
from controller.api.public import CachedExposition
from controller.api.request_ids import RequestIds
from controller.api.serving import Applications, serve_apps
from controller.cluster.forwarding import ForwardedPort, ForwardedSocket, Forwarding
from controller.cluster.pool_port import PUBLIC
from controller.cluster.splice import Splice
from controller.config.settings import ControllerSettings
from controller.observe.cluster_metrics import ClusterMetrics, ClusterSample
from controller.observe.metrics import Metrics
from controller.observe.service_manager import tell_service_manager
from controller.store import StoreError, StoreUnavailable
from controller.store.leadership import Leader, Lease, is_shared
from wire.keys import KeyPair, fingerprint, load_or_create

log = structlog.get_logger("saltern.controller")

LOOK_SECONDS = 0.5
"""Between two looks of a controller that waits whether the one that leads is gone."""


@contextlib.asynccontextmanager
async def leading(
    settings: ControllerSettings, metrics: Metrics, cluster: ClusterMetrics, stop: asyncio.Event
) -> AsyncIterator[Lease | None]:
    """Wait until this controller leads, where several share a database; None where none can.

    Args:
        settings: of the controller.
        metrics: count what was refused meanwhile.
        cluster: is told how to look at this controller.
        stop: is set when it shall wait no longer, and when its lease is lost.

    Raises:
        StoreError: the database cannot be asked, or the leader has another key.
        CannotListen: a port or the socket is taken.
    """
    if not is_shared(settings.store_url):
        yield None
        return
    lease = Lease(settings.store_url, partial(asyncio.get_running_loop().call_soon_threadsafe, stop.set))
    try:
        leader = await asyncio.to_thread(lease.try_to_lead)
        if not lease.leads:
            await _wait(lease, leader, settings, metrics, cluster, stop)
        cluster.sample = lambda: ClusterSample(leads=lease.leads, epoch=lease.epoch, waiting=len(lease.waiting))
        if lease.leads:
            log.info("leads", epoch=lease.epoch)
        yield lease
    finally:
        await asyncio.to_thread(lease.close)


async def _wait(
    lease: Lease,
    leader: Leader,
    settings: ControllerSettings,
    metrics: Metrics,
    cluster: ClusterMetrics,
    stop: asyncio.Event,
) -> None:
    """Serve by the leader, until this one leads."""
    keys = load_or_create(settings.pki_dir / "controller.key")
    standby = Standby(settings, keys, metrics)
    cluster.sample = standby.sample
    async with standby.serving():
        await standby.follow(leader)
        tell_service_manager("READY=1")
        unasked = ""
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await stop.wait()
                return
            try:
                leader = await asyncio.to_thread(lease.try_to_lead, standby.splice.source)
            except StoreUnavailable as error:
                if not unasked:
                    log.warning("database not reached: nobody takes over meanwhile", error=str(error))
                unasked = str(error)
                continue
            if unasked:
                log.info("database reached again")
                unasked = ""
            if lease.leads:
                return
            await standby.follow(leader)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Http:
    """The application of the HTTP port."""

    forwarding: Forwarding
    exposition: Callable[[], tuple[bytes, str]]
    """Text of the metrics, and its media type."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != ScopeType.HTTP:
            return
        match scope["path"]:
            case "/healthz":
                await _answer(send, 200, b"ok\n")
            case "/leader":
                await _answer(send, 503, f"waits for {self.forwarding.leader.holder or 'a leader'}\n".encode())
            case "/metrics":
                await _answer(send, 200, *self.exposition())
            case _:
                await self._pass_on(scope, receive, send)

    async def _pass_on(self, scope: HTTPScope, receive: Receive, send: Send) -> None:
        await self.forwarding.answer(scope, receive, send, PUBLIC)


class Standby:
    """What a controller does that waits.

    Args:
        settings: of the controller.
        keys: of the controller.
        metrics: count what was refused.
    """

    def __init__(self, settings: ControllerSettings, keys: KeyPair, metrics: Metrics) -> None:
        from controller.cluster.tls import pool_tls  # takes memory that a controller without others need not have

        self._settings = settings
        self._metrics = metrics
        self._key = fingerprint(keys.public)
        self._said = ""
        limits, refused = settings.limits.cluster, partial(metrics.limit_refused, "cluster")
        self.splice = Splice(settings.interface, (settings.publish_port, settings.ret_port), limits, refused)
        self._forwarding = Forwarding(pool_tls(keys).client, limits)

    def sample(self) -> ClusterSample:
        """How it is now."""
        moved = self.splice.bytes
        return ClusterSample(
            leads=False, connections=self.splice.connections, bytes_in=moved["in"], bytes_out=moved["out"]
        )

    async def follow(self, leader: Leader) -> None:
        """Serve by this controller from now on."""
        if leader.holder != self._said:
            self._said = leader.holder
            log.info("another controller leads: this one waits to take over", leader=leader.holder)
            tell_service_manager(f"STATUS=waits to take over from {leader.holder}")
        if leader.address is not None and leader.address.key != self._key:
            raise StoreError(
                f"{leader.holder}, which leads, has another key, and minions would refuse this controller's: copy "
                f"{self._settings.pki_dir} from there, and start again"
            )
        self._forwarding.follow(leader)
        await self.splice.follow(leader.address)

    async def _unready(self) -> str:
        """Why requests cannot be passed on."""
        return "" if self._forwarding.leader.address is not None else "no controller leads that could answer"

    @contextlib.asynccontextmanager
    async def serving(self) -> AsyncIterator[None]:
        """Answer on the socket and on the ports; afterwards all ports are free."""
        http = port = None
        if self._settings.http_port:
            exposition = CachedExposition(self._metrics, asyncio.get_running_loop().time)
            http = _Http(forwarding=self._forwarding, exposition=exposition.text)
        if self._settings.api.port:
            pace = RequestPace(self._settings.limits.api_port, partial(self._metrics.limit_refused, "api-port"))
            port = RequestIds(PortGate({"/": ForwardedPort(self._forwarding)}, pace, self._unready))
        apps = Applications(admin=ForwardedSocket(self._forwarding), public=http, port=port)
        try:
            async with serve_apps(apps, self._settings, self._metrics):
                try:
                    yield
                finally:
                    await self._forwarding.close()
        finally:
            await self.splice.close()


async def _answer(send: Send, status: int, body: bytes, media_type: str = "text/plain; charset=utf-8") -> None:
    headers = [(b"content-type", media_type.encode("ascii")), (b"content-length", str(len(body)).encode("ascii"))]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body, "more_body": False})
