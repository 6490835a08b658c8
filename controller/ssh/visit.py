"""One visit: an agent that was started on a machine over ssh, and the bridge by which it reaches this controller.

    ssh -> bootstrap (minion.visit.bootstrap): says which Python, gets the worker -> bridge_end: says the minion's key
        -> the agent connects through the bridge, as any minion does -> the visit is ready

The target proves itself by its host key, and its minion's key comes over that session: so it is accepted without a
person, unless another key is accepted for the id.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any

import structlog

from controller.ssh.bundle import NoBundle, TargetPython, WorkerBundle
from controller.ssh.command import NO_PYTHON, SUDO_PROMPT, HostKeys, SshCommands, bootstrap_line
from controller.ssh.target import SshTarget
from wire.bridge import Bridge, BrokenBridge, Streams

log = structlog.get_logger("saltern.ssh")

MARK = b"\0saltern-ssh 1\0"
"""As in `minion.visit.bootstrap`, which imports nothing."""
MOST_BANNER = 64 * 1024
"""Bytes that a shell may print before."""
MOST_MESSAGE = 64 * 1024
"""Bytes of a message of the target before the bridge."""
STDERR_KEPT = 4096
FINISH = b"finish"
"""As in `minion.visit.bridge_end`."""


class VisitFailed(Exception):
    """A machine could not be visited; `hint` says what to do."""

    def __init__(self, text: str, hint: str = "") -> None:
        super().__init__(text)
        self.hint = hint


@dataclass(frozen=True, slots=True, kw_only=True)
class VisitPorts:
    """What visits need of the controller."""

    commands: SshCommands
    bundle: Callable[[TargetPython, bool], Awaitable[WorkerBundle]]
    """The worker for a Python, made anew or not."""
    dial: Callable[[str], Awaitable[Streams]]
    """Connects to one of the controller's own ports, by the name that agents there have for it."""
    admit: Callable[[str, str], None]
    """Accepts a public key for an id. VisitFailed: another one is accepted for it."""
    controller_key: str
    minion_options: Mapping[str, Any]
    """Of the configuration of all minions over ssh."""


@dataclass(slots=True, kw_only=True)
class Visit:
    """One of them.

    Args:
        target: the machine.
        ports: see `VisitPorts`.
        host_keys: see `HostKeys`.
        drift: whether the agent looks for drift, once.
        new_worker: whether the worker is made anew.
        wipe: remove what is there instead.
    """

    target: SshTarget
    ports: VisitPorts
    host_keys: HostKeys = "known"
    drift: bool = False
    new_worker: bool = False
    wipe: bool = False
    _bridge: Bridge | None = None
    _stderr: bytearray = field(default_factory=bytearray)
    _asked: int = 0
    """How often sudo has asked."""

    async def run(self) -> None:
        """Visit, until the agent has ended. Raises VisitFailed.

        When this is cancelled the ssh session ends; the agent finishes what it runs.
        """
        line = bootstrap_line(self.target, _bootstrap())
        commands = self.ports.commands
        process = await asyncio.create_subprocess_exec(
            *commands.command(self.target, line, self.host_keys),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=commands.environment(self.target),
            start_new_session=True,
        )
        reading = asyncio.create_task(self._read_errors(process))
        try:
            try:
                if not await self._begin(process):
                    return
            except (asyncio.IncompleteReadError, ConnectionError, ValueError):
                raise await self._failure(process, reading) from None
            with contextlib.suppress(BrokenBridge, ConnectionError):
                assert self._bridge is not None  # noqa: S101 - `_begin` has made it
                await self._bridge.run()
        finally:
            _terminate(process)
            reading.cancel()
            await process.wait()

    @property
    def is_bridged(self) -> bool:
        """Whether the agent there can connect: whoever is connected before is that of an earlier visit."""
        return self._bridge is not None

    async def finish(self) -> None:
        """Nobody wants anything more: the agent ends when nothing is on its way."""
        if self._bridge is not None:
            with contextlib.suppress(ConnectionError):
                await self._bridge.note(FINISH)

    async def _begin(self, process: asyncio.subprocess.Process) -> bool:
        """Come to the bridge; False: all that was asked is done."""
        reader, writer = process.stdout, process.stdin
        assert reader is not None  # noqa: S101 - a pipe, as the next one
        assert writer is not None  # noqa: S101
        await _skip_to_mark(reader)
        hello = await _message(reader)
        major, minor = hello["python"]
        python = TargetPython(
            version=(int(major), int(minor)),
            magic=str(hello["magic"]),
            machine=str(hello["machine"]),
            libc=str(hello["libc"]),
        )
        try:
            bundle = None if self.wipe else await self.ports.bundle(python, self.new_worker)
        except NoBundle as error:
            raise VisitFailed(str(error), "install a Python there that the controller has, too") from error
        _write(writer, json.dumps(self._header(bundle)).encode())
        answer = await _message(reader)
        if answer.get("wiped"):
            return False
        if answer["need"] and bundle is not None:
            log.info("worker sent", minion=self.target.id, host=self.target.host)
            _write(writer, await asyncio.to_thread(bundle.read))
            await writer.drain()
            await _message(reader)
        said = await _message(reader)
        self.ports.admit(self.target.id, str(said["public"]))
        self._bridge = Bridge(reader, writer, dial=self.ports.dial)
        return True

    def _header(self, bundle: WorkerBundle | None) -> dict[str, Any]:
        target = self.target
        return {
            "id": target.id,
            "folder": target.thin_dir,
            "wipe": self.wipe,
            "worker": bundle.digest if bundle else "",
            "drift": self.drift,
            "options": {
                **self.ports.minion_options,
                **target.minion_opts,
                "controller_key": self.ports.controller_key,
            },
        }

    async def _read_errors(self, process: asyncio.subprocess.Process) -> None:
        """Keep the end of what is said there, and answer sudo, once."""
        assert process.stderr is not None  # noqa: S101 - a pipe, as the next one
        assert process.stdin is not None  # noqa: S101
        prompt = SUDO_PROMPT.encode()
        while data := await process.stderr.read(STDERR_KEPT):
            self._stderr += data
            if self._stderr.count(prompt) > self._asked:
                self._asked += 1
                if self._asked > 1:
                    _terminate(process)  # it was the wrong one
                else:
                    process.stdin.write(self.target.passwd.encode() + b"\n")
            del self._stderr[:-STDERR_KEPT]

    async def _failure(self, process: asyncio.subprocess.Process, reading: asyncio.Task[None]) -> VisitFailed:
        """Why the session has ended before it was a visit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(5):
                await process.wait()
                await reading
        said = self._stderr.decode("utf-8", "replace").replace(SUDO_PROMPT, "").strip()
        if self._asked > 1:
            return VisitFailed("sudo does not take this password", "check `passwd` of the target")
        return explain(self.target, process.returncode, said)


def explain(target: SshTarget, code: int | None, said: str) -> VisitFailed:
    """What the end of ssh means, and what to do."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    last = lines[-1] if lines else f"ssh ended with {code}"
    name = f"[{target.host}]:{target.port}" if target.port != 22 else target.host
    if code == NO_PYTHON:
        return VisitFailed(last, "install it there: apt install python3, dnf install python3.11")
    if "Host key verification failed" in said or "HOST IDENTIFICATION HAS CHANGED" in said:
        if "HAS CHANGED" in said:
            hint = f"if it was made anew: ssh-keygen -R '{name}' -f PKI_DIR/ssh/known_hosts; else somebody else answers"
            return VisitFailed("the key of this host is another than the known one", hint)
        return VisitFailed("the key of this host is not known", "accept keys of new hosts with -i")
    if "Permission denied" in said:
        hint = "put the controller's key there: saltern ssh --key-deploy --askpass TARGET, or give `passwd` or `priv`"
        return VisitFailed(f"{target.user}@{name}: {last}", hint)
    if "sudo" in last:
        return VisitFailed(last, "let this user sudo without a password, or give `passwd`")
    return VisitFailed(f"{target.user}@{name}: {last}", "try it by hand: ssh -p PORT USER@HOST true")


def _terminate(process: asyncio.subprocess.Process) -> None:
    """End ssh. `Process.terminate` would take the exit code away from asyncio, where it has ended by itself."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGTERM)


def _bootstrap() -> str:
    return files("minion.visit").joinpath("bootstrap.py").read_text(encoding="utf-8")


async def _skip_to_mark(reader: asyncio.StreamReader) -> None:
    """Pass over what the shell prints first. ValueError when that is too much."""
    seen = bytearray()
    while not seen.endswith(MARK):
        seen += await reader.readexactly(1)
        if len(seen) > MOST_BANNER:
            raise ValueError("the shell there prints too much")


async def _message(reader: asyncio.StreamReader) -> dict[str, Any]:
    """What the target says next. VisitFailed: what it refuses."""
    length = int.from_bytes(await reader.readexactly(4), "big")
    if length > MOST_MESSAGE:
        raise VisitFailed(f"the target sends a message of {length} bytes")
    found = json.loads(await reader.readexactly(length))
    if not isinstance(found, dict):
        raise VisitFailed("the target sends what is no message")
    if "error" in found:
        raise VisitFailed(str(found["error"])[:1000])
    return found


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(len(data).to_bytes(4, "big") + data)
