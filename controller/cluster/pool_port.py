"""The port of the controller that leads for those that wait: requests of people on their machines, and of forges.

Served by `controller.app`. Who connects has to show the key of the controllers (`controller.cluster.tls`); then it is
believed who asks, as whoever has that key could do anything already. What they may is decided here, as of requests on
this machine: the applications are the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field

from litestar.enums import ScopeType
from litestar.types import ASGIApp, HTTPScope, Receive, Scope, Send

from controller.access.principals import NOBODY
from controller.api.deadline import DeadlineProtocol, deadline_protocol
from controller.api.serving import serving
from controller.cluster import asker
from controller.cluster.listening import listen
from controller.config.limits import ClusterLimits
from controller.config.settings import ControllerSettings
from options.limits import CountRefusal

ADMIN, PUBLIC = "/socket", "/http"
"""In front of the path of a request: which of the two applications is meant."""
_PAUSE_SECONDS = 0.1
"""After no connection could be accepted."""


@contextlib.asynccontextmanager
async def pool_port(
    apps: PoolApps,
    tls: ssl.SSLContext,
    settings: ControllerSettings,
    is_controller: Callable[[str], bool],
    on_refusal: CountRefusal,
) -> AsyncIterator[int]:
    """Serve controllers that wait; gives the port.

    Args:
        apps: what is served.
        tls: this controller's end.
        settings: of the controller.
        is_controller: whether an address is that of a controller which waits.
        on_refusal: takes the name of a limit that was reached.

    Raises:
        CannotListen: the port is taken.
    """
    limits = settings.limits.cluster
    protocol = deadline_protocol(limits.controllers, settings.limits.api.request_seconds, on_refusal)
    with listen(settings.interface, settings.cluster_pool_port, "cluster_pool_port") as listener:
        async with serving(apps, (), protocol) as make_protocol:
            port = _Port(make_protocol, tls, limits, is_controller, on_refusal)
            task = asyncio.create_task(port.accept(listener), name="cluster")
            try:
                yield int(listener.getsockname()[1])
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


class PoolApps:
    """Both applications as one.

    Args:
        admin: of the unix socket.
        public: of the HTTP port; None: it has none.
    """

    def __init__(self, admin: ASGIApp, public: ASGIApp | None) -> None:
        self._admin = admin
        self._public = public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != ScopeType.HTTP:
            return
        if scope["path"].startswith(f"{ADMIN}/"):
            header = next((value for name, value in scope["headers"] if name == asker.HEADER), b"")
            peer = asker.asker_of(header)
            await self._admin(_below(scope, ADMIN) | {"state": {**scope["state"], "peer": peer}}, receive, send)
        elif self._public is not None and scope["path"].startswith(f"{PUBLIC}/"):
            # It may come from an address of this machine, and is no request of this machine.
            headers = [*scope["headers"], (b"x-forwarded-for", b"unknown")]
            below = _below(scope, PUBLIC) | {"headers": headers, "state": {**scope["state"], "peer": NOBODY}}
            await self._public(below, receive, send)
        else:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _below(scope: HTTPScope, prefix: str) -> HTTPScope:
    raw = scope["raw_path"].removeprefix(prefix.encode("ascii"))
    return {**scope, "path": scope["path"].removeprefix(prefix), "raw_path": raw}


@dataclass(slots=True, kw_only=False)
class _Port:
    make_protocol: Callable[[], DeadlineProtocol]
    tls: ssl.SSLContext
    limits: ClusterLimits
    is_controller: Callable[[str], bool]
    on_refusal: CountRefusal
    handshakes: dict[asyncio.Task[None], bool] = field(default_factory=dict)
    """That go on -> whether from a controller's address."""

    async def accept(self, listener: socket.socket) -> None:
        """Take connections until it is cancelled."""
        loop = asyncio.get_running_loop()
        try:
            while True:
                try:
                    accepted, address = await loop.sock_accept(listener)
                except OSError:
                    await asyncio.sleep(_PAUSE_SECONDS)
                    continue
                self._take(accepted, known=self.is_controller(str(address[0])))
        finally:
            for task in self.handshakes:
                task.cancel()

    def _take(self, accepted: socket.socket, *, known: bool) -> None:
        limit, most = ("controllers", self.limits.controllers) if known else ("strangers", self.limits.strangers)
        if sum(each is known for each in self.handshakes.values()) >= most:
            self.on_refusal(limit)
            accepted.close()
            return
        task = asyncio.create_task(self._shake_hands(accepted), name="cluster")
        self.handshakes[task] = known
        task.add_done_callback(self.handshakes.pop)

    async def _shake_hands(self, accepted: socket.socket) -> None:
        loop, seconds = asyncio.get_running_loop(), self.limits.handshake_seconds
        try:
            await loop.connect_accepted_socket(
                self.make_protocol, accepted, ssl=self.tls, ssl_handshake_timeout=seconds, ssl_shutdown_timeout=1.0
            )
        except (OSError, TimeoutError):
            self.on_refusal("handshake-seconds")
            accepted.close()
