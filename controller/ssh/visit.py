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
import re
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
ANSWER_SECONDS = 10.0
"""That the shell and Python there have to answer, beside the `timeout` of the target for the connection."""
END_SECONDS = 5.0
"""That ssh has to end, before it is killed."""
FINISH = b"finish"
"""As in `minion.visit.bridge_end`."""


_WORD = re.compile(r"\w{1,40}", re.ASCII)


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
    forget: Callable[[str, str], Awaitable[None]]
    """Accepts a public key for an id no more, where it did."""
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
        process = await start_ssh(
            self.ports.commands, self.target, bootstrap_line(self.target, _bootstrap()), self.host_keys
        )
        reading = asyncio.create_task(self._read_errors(process))
        try:
            try:
                if not await self._begin(process):
                    return
            except (asyncio.IncompleteReadError, ConnectionError):
                raise await self._failure(process, reading) from None
            with contextlib.suppress(BrokenBridge, ConnectionError):
                assert self._bridge is not None  # noqa: S101 - `_begin` has made it
                await self._bridge.run()
        finally:
            reading.cancel()
            await end_ssh(process)

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
        seconds = self.target.timeout + ANSWER_SECONDS
        try:
            async with asyncio.timeout(seconds):
                await self._skip_to_mark(process, reader)
                python = _python_of(await _message(reader))
        except TimeoutError:
            raise VisitFailed(f"no Python answers there within {seconds:g} s", _by_hand(self.target)) from None
        try:
            bundle = None if self.wipe else await self.ports.bundle(python, self.new_worker)
        except NoBundle as error:
            raise VisitFailed(str(error), "install a Python there that the controller has, too") from error
        _write(writer, json.dumps(self._header(bundle)).encode())
        answer = await _message(reader)
        if answer.get("wiped"):
            await self.ports.forget(self.target.id, str(answer.get("public")))
            return False
        if answer.get("need") and bundle is not None:
            log.info("worker sent", minion=self.target.id, host=self.target.host)
            _write(writer, await asyncio.to_thread(bundle.read))
            await writer.drain()
            await _message(reader)
        said = await _message(reader)
        self.ports.admit(self.target.id, str(said.get("public")))
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
        assert process.stderr is not None  # noqa: S101 - a pipe
        while data := await process.stderr.read(STDERR_KEPT):
            self._hear(process, data)

    def _hear(self, process: asyncio.subprocess.Process, data: bytes) -> None:
        assert process.stdin is not None  # noqa: S101 - a pipe
        self._stderr += data
        if self._stderr.count(SUDO_PROMPT.encode()) > self._asked:
            self._asked += 1
            if self._asked > 1:
                _signal(process, signal.SIGTERM)  # it was the wrong one
            else:
                process.stdin.write(self.target.passwd.encode() + b"\n")
        del self._stderr[:-STDERR_KEPT]

    async def _skip_to_mark(self, process: asyncio.subprocess.Process, reader: asyncio.StreamReader) -> None:
        """Pass over what the shell prints first. VisitFailed when that is too much.

        In a terminal it is what else would come as errors, and sudo's question, too.
        """
        seen = bytearray()
        while not seen.endswith(MARK):
            one = await reader.readexactly(1)
            seen += one
            if self.target.tty:
                self._hear(process, one)
            if len(seen) > MOST_BANNER:
                text = f"the shell there prints more than {MOST_BANNER // 1024} KiB before Python begins"
                raise VisitFailed(text, "have its profile print nothing where nobody is at a terminal")

    async def _failure(self, process: asyncio.subprocess.Process, reading: asyncio.Task[None]) -> VisitFailed:
        """Why the session has ended before it was a visit."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(END_SECONDS):
                await reading
                await process.wait()
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
    if "tty" in last and "sudo" in last:
        return VisitFailed(last, "give the target `tty: true`, or have sudo need no terminal (`Defaults !requiretty`)")
    if "sudo" in last:
        return VisitFailed(last, "let this user sudo without a password, or give `passwd`")
    if "No space left on device" in said:
        return VisitFailed(f"{target.user}@{name}: no space is left there", "free some, or name another `thin_dir`")
    if "failed to map segment" in said:
        hint = "its filesystem is mounted with noexec: name a `thin_dir` on another one"
        return VisitFailed(f"{target.user}@{name}: libraries cannot be loaded from thin_dir", hint)
    return VisitFailed(f"{target.user}@{name}: {last}", _by_hand(target))


def _by_hand(target: SshTarget) -> str:
    key = target.priv or "PKI_DIR/ssh/salt-ssh.rsa"
    return f"try it by hand: ssh -i {key} -p {target.port} {target.user}@{target.host} true"


async def start_ssh(
    commands: SshCommands, target: SshTarget, line: str, host_keys: HostKeys
) -> asyncio.subprocess.Process:
    """ssh that runs a line there, in a session of its own. VisitFailed: there is none here."""
    try:
        return await asyncio.create_subprocess_exec(
            *commands.command(target, line, host_keys),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            env=commands.environment(target),
            start_new_session=True,
        )
    except OSError as error:
        raise VisitFailed(f"ssh cannot be started on the controller: {error}", "install openssh-client") from error


async def end_ssh(process: asyncio.subprocess.Process) -> None:
    """End ssh, and what it has started here, whatever it still has to say."""
    _signal(process, signal.SIGTERM)
    rest = [asyncio.create_task(_discard(each)) for each in (process.stdout, process.stderr) if each is not None]
    try:
        async with asyncio.timeout(END_SECONDS):
            await process.wait()  # which is over when its pipes are at their end: so they are read
    except TimeoutError:
        _signal(process, signal.SIGKILL)
    finally:
        for each in rest:
            each.cancel()


async def _discard(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(OSError, RuntimeError):  # somebody else reads it
        while await reader.read(1 << 16):
            pass


def _signal(process: asyncio.subprocess.Process, number: signal.Signals) -> None:
    """Signal ssh's session. `Process.terminate` would take the exit code away from asyncio, where it has ended."""
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)


def _bootstrap() -> str:
    return files("minion.visit").joinpath("bootstrap.py").read_text(encoding="utf-8")


async def _message(reader: asyncio.StreamReader) -> dict[str, Any]:
    """What the target says next. VisitFailed: what it refuses."""
    length = int.from_bytes(await reader.readexactly(4), "big")
    if length > MOST_MESSAGE:
        raise VisitFailed(f"the target sends a message of {length} bytes")
    data = await reader.readexactly(length)
    try:
        found = json.loads(data)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise VisitFailed("the target sends what is no message")
    if "error" in found:
        raise VisitFailed(str(found["error"])[:1000])
    return found


def _python_of(hello: Mapping[str, Any]) -> TargetPython:
    """Which Python there is. VisitFailed: it says none. What it says is given to pip, and names a file."""
    match hello:
        case {
            "python": [int(major), int(minor)],
            "magic": str(magic),
            "machine": str(machine),
            "libc": str(libc),
        } if _WORD.fullmatch(machine) and _WORD.fullmatch(libc or "other") and 3 <= major < 10 and 0 <= minor < 100:
            return TargetPython(version=(major, minor), magic=magic, machine=machine, libc=libc)
    raise VisitFailed("the target does not say which Python it has")


def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(len(data).to_bytes(4, "big") + data)
