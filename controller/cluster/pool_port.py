"""The port of the controller that leads for those that wait: requests of people on their machines, and of forges.

Served by `controller.app`. Who connects has to show the key of the controllers (`controller.cluster.tls`); then it is
believed who asks, as whoever has that key could do anything already. What they may is decided here, as of requests on
this machine: the applications are the same.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

from litestar.enums import ScopeType
from litestar.types import HTTPScope, Receive, Scope, Send

from controller.access.principals import NOBODY, Principal
from controller.api.deadline import deadline_protocol
from controller.api.listening import serving
from controller.api.port.handshakes import HandshakeKind, TlsAccepting
from controller.api.serving import Applications
from controller.cluster import asker
from controller.cluster.listening import listen
from controller.config.settings import ControllerSettings
from options.limits import CountRefusal

ADMIN, PUBLIC, PORT = "/socket", "/http", "/port"
"""In front of the path of a request: which of the applications is meant."""


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

    def kind_of(address: str) -> HandshakeKind:
        """Strangers take no room from controllers."""
        return ("controllers", limits.controllers) if is_controller(address) else ("strangers", limits.strangers)

    protocol = deadline_protocol(limits.controllers, settings.limits.api.request_seconds, on_refusal)
    with listen(settings.interface, settings.cluster_pool_port, "cluster_pool_port") as listener:
        async with serving(apps, (), protocol) as make_protocol:
            accepting = TlsAccepting(
                make_protocol=make_protocol,
                tls=lambda: tls,
                seconds=limits.handshake_seconds,
                kind_of=kind_of,
                on_refusal=on_refusal,
            )
            task = asyncio.create_task(accepting.run(listener), name="cluster")
            try:
                yield int(listener.getsockname()[1])
            finally:
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)


class PoolApps:
    """All applications as one: what the socket and the ports serve here is served to other controllers, too.

    Args:
        apps: of the socket and the ports.
    """

    def __init__(self, apps: Applications) -> None:
        self._admin = apps.admin
        self._public = apps.public
        self._port = apps.port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != ScopeType.HTTP:
            return
        if scope["path"].startswith(f"{ADMIN}/"):
            peer = _asker(scope)
            await self._admin(_below(scope, ADMIN) | {"state": {**scope["state"], "peer": peer}}, receive, send)
        elif self._port is not None and scope["path"].startswith(f"{PORT}/"):
            # Over the network nobody is known by an address, but how often one asks is.
            peer = replace(NOBODY, address=_asker(scope).address)
            await self._port(_below(scope, PORT) | {"state": {**scope["state"], "peer": peer}}, receive, send)
        elif self._public is not None and scope["path"].startswith(f"{PUBLIC}/"):
            # It may come from an address of this machine, and is no request of this machine.
            headers = [*scope["headers"], (b"x-forwarded-for", b"unknown")]
            below = _below(scope, PUBLIC) | {"headers": headers, "state": {**scope["state"], "peer": NOBODY}}
            await self._public(below, receive, send)
        else:
            await send({"type": "http.response.start", "status": 404, "headers": []})
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _asker(scope: HTTPScope) -> Principal:
    return asker.asker_of(next((value for name, value in scope["headers"] if name == asker.HEADER), b""))


def _below(scope: HTTPScope, prefix: str) -> HTTPScope:
    raw = scope["raw_path"].removeprefix(prefix.encode("ascii"))
    return {**scope, "path": scope["path"].removeprefix(prefix), "raw_path": raw}
