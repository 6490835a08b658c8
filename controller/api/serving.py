"""Puts the applications on their sockets, inside the controller's own loop. Called by its composition root."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from litestar import Litestar
from litestar.types import ASGIApp

from controller.access.access import Access
from controller.api.app import api_app
from controller.api.deadline import deadline_protocol
from controller.api.listening import serving, tcp_socket, unix_socket
from controller.api.permissions import PREFIX
from controller.api.port.gate import IsReady, PortGate, RequestPace
from controller.api.port.serving import serve_port
from controller.api.public import HintPull, public_app
from controller.api.request_ids import RequestIds
from controller.config.settings import ControllerSettings
from controller.observe.metrics import Metrics
from controller.schema.controller_api import ControllerApi


@dataclass(frozen=True, slots=True, kw_only=True)
class Applications:
    """What is served."""

    admin: ASGIApp
    """On the unix socket."""
    public: ASGIApp | None
    """On the port of hook and metrics; None when it is off."""
    port: ASGIApp | None
    """On the port of the API; None when it is off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServedAt:
    """Where it is served."""

    http: tuple[str, int] | None
    """Host and port of hook and metrics."""
    api: tuple[str, int] | None
    """Host and port of the API."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where the API is."""

    socket: Path
    http: tuple[str, int] | None
    """Host and port of hook and metrics; None when they are off."""
    api: tuple[str, int] | None
    """Host and port of the API; None when it has none."""
    apps: Applications
    webhooks: Litestar | None = None
    """What is public, for a reload to change its secrets."""


@contextlib.asynccontextmanager
async def serve(
    service: ControllerApi,
    access: Access,
    settings: ControllerSettings,
    metrics: Metrics,
    hint_pull: HintPull,
    *,
    is_ready: IsReady,
    mounts: Mapping[str, ASGIApp] | None = None,
) -> AsyncIterator[Listening]:
    """Serve all APIs while the body runs.

    Args:
        service: answers.
        access: says who may.
        settings: of the controller.
        metrics: count what is refused.
        hint_pull: is told of pull requests that something happened to.
        is_ready: why the controller cannot answer; empty when it can.
        mounts: what else the API's port serves: prefix of paths -> application (docs: ARCHITECTURE.md).

    Raises:
        CannotListen: a socket is taken or not permitted.
    """
    refused = partial(metrics.limit_refused, "api")
    app = RequestIds(api_app(service, access, settings.limits, settings.api.session_seconds, refused))
    public = port = None
    if settings.http_port:
        limits = settings.limits.webhook
        public = public_app(
            service, metrics, settings.hook_secret, limits, hint_pull, events_token=settings.events_token
        )
    if settings.api.port:
        pace = RequestPace(settings.limits.api_port, partial(metrics.limit_refused, "api-port"))
        port = RequestIds(PortGate({PREFIX: app, **(mounts or {})}, pace, is_ready))
    apps = Applications(admin=app, public=public, port=port)
    async with serve_apps(apps, settings, metrics) as addresses:
        yield Listening(socket=settings.socket, http=addresses.http, api=addresses.api, apps=apps, webhooks=public)


@contextlib.asynccontextmanager
async def serve_apps(apps: Applications, settings: ControllerSettings, metrics: Metrics) -> AsyncIterator[ServedAt]:
    """Serve these on their sockets; CannotListen as `serve`."""
    async with contextlib.AsyncExitStack() as stack:
        bound = stack.enter_context(unix_socket(settings.socket, shared=settings.access.shared))
        limits, refused = settings.limits.api, partial(metrics.limit_refused, "api")
        protocol = deadline_protocol(limits.connections, limits.request_seconds, refused)
        await stack.enter_async_context(serving(apps.admin, (bound,), protocol))
        http = api = None
        if apps.public is not None:
            bound = stack.enter_context(tcp_socket(settings.http_host, settings.http_port, "http_host", "http_port"))
            outside, refused = settings.limits.webhook, partial(metrics.limit_refused, "webhook")
            protocol = deadline_protocol(outside.connections, outside.request_seconds, refused)
            await stack.enter_async_context(serving(apps.public, (bound,), protocol))
            http = bound.getsockname()[:2]
        if apps.port is not None:
            refused = partial(metrics.limit_refused, "api-port")
            api = await stack.enter_async_context(
                serve_port(apps.port, settings.api, settings.limits.api_port, refused)
            )
        yield ServedAt(http=http, api=api)
