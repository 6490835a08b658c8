"""Puts the two applications on their sockets, inside the controller's own loop. Called by its composition root."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import uvicorn
from litestar import Litestar
from litestar.types import ASGIApp

from controller.access.access import Access
from controller.api.admin import admin_app
from controller.api.deadline import DeadlineProtocol, deadline_protocol
from controller.api.public import HintPull, public_app
from controller.config.settings import ControllerSettings
from controller.observe.metrics import Metrics
from controller.schema.controller_api import ControllerApi

_BACKLOG = 128
_GRACE = 1  # seconds that open streams get when the controller stops


class CannotListen(Exception):
    """A socket cannot be had; says which one, why, and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Listening:
    """Where the API is."""

    socket: Path
    http: tuple[str, int] | None
    """Host and port of hook and metrics; None when they are off."""
    admin: Litestar
    public: Litestar | None
    """The application at `http`."""


@contextlib.asynccontextmanager
async def serve(
    service: ControllerApi,
    access: Access,
    settings: ControllerSettings,
    metrics: Metrics,
    hint_pull: HintPull,
) -> AsyncIterator[Listening]:
    """Serve both APIs while the body runs. CannotListen when a socket is taken or not permitted."""
    async with contextlib.AsyncExitStack() as stack:
        refused = partial(metrics.limit_refused, "api")
        admin, public = admin_app(service, access, settings.limits.api, refused), None
        if settings.http_port:
            public = public_app(
                service,
                metrics,
                settings.hook_secret,
                settings.limits.webhook,
                hint_pull,
                events_token=settings.events_token,
            )
        http = await stack.enter_async_context(serve_apps(admin, public, settings, metrics))
        yield Listening(socket=settings.socket, http=http, admin=admin, public=public)


@contextlib.asynccontextmanager
async def serve_apps(
    admin: ASGIApp, public: ASGIApp | None, settings: ControllerSettings, metrics: Metrics
) -> AsyncIterator[tuple[str, int] | None]:
    """Serve these on the unix socket and on the HTTP port, whose address it gives; CannotListen as `serve`."""
    async with contextlib.AsyncExitStack() as stack:
        bound = stack.enter_context(_unix_socket(settings.socket, shared=settings.access.shared))
        limits, refused = settings.limits.api, partial(metrics.limit_refused, "api")
        protocol = deadline_protocol(limits.connections, limits.request_seconds, refused)
        await stack.enter_async_context(serving(admin, (bound,), protocol))
        if public is None:
            yield None
            return
        bound = stack.enter_context(_tcp_socket(settings.http_host, settings.http_port))
        outside, refused = settings.limits.webhook, partial(metrics.limit_refused, "webhook")
        protocol = deadline_protocol(outside.connections, outside.request_seconds, refused)
        await stack.enter_async_context(serving(public, (bound,), protocol))
        yield bound.getsockname()[:2]


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.stop = asyncio.Event()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals are the composition root's affair."""
        yield

    async def main_loop(self) -> None:
        """Sleep until told to stop. Uvicorn's own wakes ten times a second for a Date header."""
        await self.stop.wait()


@contextlib.asynccontextmanager
async def serving(
    app: ASGIApp, bound: Sequence[socket.socket], protocol: type[DeadlineProtocol]
) -> AsyncIterator[Callable[[], DeadlineProtocol]]:
    """Serve an application on sockets that listen; what it gives makes the protocol of a connection by another way."""
    config = uvicorn.Config(
        app,
        http=protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        date_header=False,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=_GRACE,
    )
    server = _Server(config)
    task = asyncio.create_task(server.serve(sockets=[*bound]))
    try:
        while not server.started and not task.done():
            await asyncio.sleep(0.001)
        yield lambda: protocol(config=config, server_state=server.server_state, app_state=server.lifespan.state)
    finally:
        server.stop.set()
        await task


@contextlib.contextmanager
def _unix_socket(path: Path, *, shared: bool) -> Iterator[socket.socket]:
    """The socket; `shared`: whether other users reach it, whose requests are decided one by one."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.closing(bound):
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _free_place(path)
            _bind_privately(bound, path)
            if shared:
                path.parent.chmod(stat.S_IMODE(path.parent.stat().st_mode) | 0o011)
                path.chmod(0o666)
        except OSError as error:
            raise CannotListen(f"{path}: {error.strerror or error}; set sock_dir to a folder of this user") from error
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def _bind_privately(bound: socket.socket, path: Path) -> None:
    """Never reachable by others, not even between bind and chmod."""
    before = os.umask(0o177)
    try:
        bound.bind(str(path))
    finally:
        os.umask(before)
    bound.listen(_BACKLOG)


def _free_place(path: Path) -> None:
    """Remove the socket of a controller that died; CannotListen when one lives there, or something else does."""
    folder = path.parent.stat()
    if folder.st_uid != os.geteuid() or folder.st_mode & 0o022:
        raise CannotListen(f"{path.parent} must belong to the controller's user and be writable by it alone")
    try:
        found = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(found.st_mode):
        raise CannotListen(f"{path} is in the way and is no socket; remove it")
    with contextlib.closing(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)) as probe:
        try:
            probe.connect(str(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise CannotListen(f"a controller is running already: it answers on {path}")


@contextlib.contextmanager
def _tcp_socket(host: str, port: int) -> Iterator[socket.socket]:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    with contextlib.closing(bound):
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(_BACKLOG)
        except OSError as error:
            raise CannotListen(
                f"http_host {host}, http_port {port}: {error.strerror}; choose another http_port, or 0 for none"
            ) from error
        yield bound
