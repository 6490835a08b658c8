"""Runs a call in a process of its own, with a deadline and bounds on what comes from it. Called by runners.

The process is not trusted: its messages are bounded in size and number, decoded as the expected types, and never
unpickled. It ends with the call, by its deadline, or with the controller.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
import structlog

from controller.compilation.workers.settings import WorkerSettings
from controller.config.limits import RunnerLimits
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.runners.processes.messages import FiredEvent, ProcessJob, ProcessReturn, RunnerAnswer, RunnerQuery
from controller.schema.errors import ServiceError
from options.limits import CountRefusal

log = structlog.get_logger("saltern.runners")

_HEAD = 4
_DECODER = msgspec.msgpack.Decoder(RunnerQuery | FiredEvent | ProcessReturn)
_READ = 64 * 1024

AskRunner = Callable[[RunnerContext, str, Sequence[Any], Mapping[str, Any]], Awaitable[Any]]
"""Calls one of the controller's runners for a runner of the tree. Raises ControllerCallFailed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FunctionProcess:
    """How processes are made."""

    settings: WorkerSettings
    limits: RunnerLimits
    on_refusal: CountRefusal
    ask: AskRunner

    async def run(self, context: RunnerContext, job: ProcessJob) -> Any:
        """The value of the call; ControllerCallFailed when there is none."""
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        try:
            with theirs:
                process = await self._start(theirs)
        except BaseException:
            ours.close()
            raise
        printed = asyncio.create_task(self._print(process, context))
        try:
            async with asyncio.timeout(self.limits.seconds):
                return await self._converse(ours, context, job, printed)
        except TimeoutError:
            self.on_refusal("seconds")
            raise ControllerCallFailed(
                f"{job.fun} was ended: it took more than {self.limits.seconds:g} s (limits: runner: seconds)"
            ) from None
        finally:
            printed.cancel()
            await _end(process)

    async def _start(self, theirs: socket.socket) -> asyncio.subprocess.Process:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-P",
            "-m",
            "saltern.run_module",
            "controller.runners.processes.worker",
            str(theirs.fileno()),
            self.settings.as_argument(),
            pass_fds=[theirs.fileno()],
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            env={key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH", "HOME") if key in os.environ},
            process_group=0,
        )

    async def _converse(
        self, ours: socket.socket, context: RunnerContext, job: ProcessJob, printed: asyncio.Task[str]
    ) -> Any:
        reader, writer = await asyncio.open_connection(sock=ours)
        try:
            if lacking := (await self._receive(reader)).decode():
                log.warning("process of a runner is not sandboxed", reason=lacking)
            await _send(writer, await asyncio.to_thread(pickle.dumps, job))
            for _ in range(self.limits.messages + 1):
                match _DECODER.decode(await self._receive(reader)):
                    case ProcessReturn(error=error) if error:
                        raise ControllerCallFailed(error)
                    case ProcessReturn(value=value):
                        with contextlib.suppress(TimeoutError):  # what it printed comes before its value
                            async with asyncio.timeout(1.0):
                                await asyncio.shield(printed)
                        return value
                    case RunnerQuery() as asked:
                        await _send(writer, pickle.dumps(await self._answer(context, asked)))
                    case FiredEvent(data=data, suffix=suffix):
                        context.say(data, suffix)
        except (asyncio.IncompleteReadError, ConnectionError):
            said = await _tail(printed)
            raise ControllerCallFailed(f"the process of {job.fun} ended without a value" + said) from None
        except (msgspec.MsgspecError, RecursionError) as error:
            raise ControllerCallFailed(f"the process of {job.fun} sent what is no message: {error}") from None
        finally:
            writer.close()
        self.on_refusal("messages")
        raise ControllerCallFailed(f"{job.fun} was ended: it sent more than {self.limits.messages} messages")

    async def _receive(self, reader: asyncio.StreamReader) -> bytes:
        size = int.from_bytes(await reader.readexactly(_HEAD), "big")
        if size > self.limits.value_bytes:
            self.on_refusal("value-bytes")
            raise ControllerCallFailed(f"what it sent has more than {self.limits.value_bytes} bytes")
        return await reader.readexactly(size)

    async def _answer(self, context: RunnerContext, asked: RunnerQuery) -> RunnerAnswer:
        try:
            return RunnerAnswer(value=await self.ask(context, asked.fun, asked.args, asked.kwargs))
        except (ControllerCallFailed, ServiceError) as error:
            return RunnerAnswer(error=str(error))

    async def _print(self, process: asyncio.subprocess.Process, context: RunnerContext) -> str:
        """Show what the process prints, as much as it may; the end of it."""
        assert process.stdout is not None  # noqa: S101 - a pipe was asked for
        left, tail = self.limits.output_bytes, b""
        while part := await process.stdout.read(_READ):
            shown, left = part[:left], left - len(part[:left])
            tail = (tail + part)[-2000:]
            if shown:
                await context.listener.write(shown.decode(errors="replace").rstrip("\n"))
                if not left:
                    self.on_refusal("output-bytes")
        return tail.decode(errors="replace").strip()


async def _send(writer: asyncio.StreamWriter, body: bytes) -> None:
    writer.write(len(body).to_bytes(_HEAD, "big") + body)
    await writer.drain()


async def _tail(printed: asyncio.Task[str]) -> str:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            said = await asyncio.shield(printed)
        if said:
            return f"; it wrote: {said}"
    return ""


async def _end(process: asyncio.subprocess.Process) -> None:
    """Kill it, with what it started."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
