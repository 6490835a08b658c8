"""Sockets that listen, and applications served on them, inside the controller's own loop."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import stat
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from pathlib import Path

import uvicorn
from litestar.types import ASGIApp

from controller.api.deadline import DeadlineProtocol

_BACKLOG = 128
_GRACE = 1  # seconds that open streams get when the controller stops


class CannotListen(Exception):
    """A socket cannot be had; says which one, why, and what to do."""


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
def unix_socket(path: Path, *, shared: bool) -> Iterator[socket.socket]:
    """The socket; `shared`: whether other users reach it, whose requests are decided one by one."""
    bound = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    with contextlib.closing(bound):
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _free_place(path)
            _bind_privately(bound, path)
            admit_users(path, shared=shared)
        except OSError as error:
            raise CannotListen(f"{path}: {error.strerror or error}; set sock_dir to a folder of this user") from error
        try:
            yield bound
        finally:
            path.unlink(missing_ok=True)


def admit_users(path: Path, *, shared: bool) -> None:
    """Let other users reach a socket (`shared`), or its own user alone."""
    if shared:
        path.parent.chmod(stat.S_IMODE(path.parent.stat().st_mode) | 0o011)
    path.chmod(0o666 if shared else 0o600)


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
def tcp_socket(host: str, port: int, host_option: str, port_option: str) -> Iterator[socket.socket]:
    """A socket that listens; CannotListen, which names the options, when it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Asyncio sends small answers at once (TCP_NODELAY) on sockets that say what they are; others wait 40 ms for the ACK
    # of their header.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    with contextlib.closing(bound):
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            bound.bind((host, port))
            bound.listen(_BACKLOG)
        except OSError as error:
            raise CannotListen(
                f"{host_option} {host}, {port_option} {port}: {error.strerror}; choose another {port_option}, "
                "or 0 for none"
            ) from error
        yield bound
