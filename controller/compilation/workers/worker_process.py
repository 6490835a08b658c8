"""A process that renders templates, as the controller sees it: started when first needed and again after it was killed.

Used from one thread at a time; `close` from any. The process is not trusted, as a tree's Python may run in it. What it
sends is bounded in size, number and time, and never unpickled.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec
import structlog

from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.workers.channel import ChannelClosed, LimitExceeded, WorkerChannel
from controller.compilation.workers.settings import WorkerSettings
from controller.config.limits import CompileWorkerLimits

log = structlog.get_logger()

_START = 60.0
"""Seconds until a new process has to be there."""
FOR_SOURCES = 0.9
"""Part of the time left that a source may take: the rest is for the compile to make an error of it."""
AnswerCall: TypeAlias = Callable[[bytes, float], "bytes | None"]


class WorkerFailed(Exception):
    """The worker has sent no answer; the text says why. It has to be stopped."""


class ProcessLost(Exception):
    """The process is gone by no fault of what it compiled: its machine is. What is left may be sent again."""


class WorkerClosed(Exception):
    """The controller stops."""


class WorkerProcess:
    """One process.

    Args:
        module: that it runs, with a socket and `WorkerSettings`.
        timeout: seconds that one request, or one minion of it, may take.
        sandbox_policy: what the process may do; None: all that its user may.
        limits: what is taken from it.
        niceness: added to what every compile worker has.
    """

    def __init__(
        self,
        module: str,
        timeout: float,
        sandbox_policy: SandboxPolicy | None,
        limits: CompileWorkerLimits,
        *,
        niceness: int = 0,
    ) -> None:
        self._module = module
        self.timeout = timeout
        self.limits = limits
        self._sandbox_policy = sandbox_policy
        self._niceness = niceness
        self._lock = threading.Lock()
        """Around what `close` and the thread that compiles both look at."""
        self._use = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._channel: WorkerChannel | None = None
        self._closed = False
        self.lacking = ""
        """Why the process that was started last is not sandboxed."""
        self._folders: tuple[tuple[int, int], ...] = ()
        """The folders that the sandbox grants, as the process found them: the kernel knows them by these numbers."""

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""
        process = self._process
        return process.pid if process is not None else 0

    @contextlib.contextmanager
    def in_use(self) -> Iterator[None]:
        """Around `send`, `receive` and `stop`, all of one thread."""
        try:
            with self._use:
                yield
        finally:
            self._stop_when_closed()

    def exchange(self, payload: bytes, answer: AnswerCall, *, questions: int) -> bytes:
        """Have it answer one request, and answer what it asks meanwhile, in the time of this process.

        Args:
            payload: the request.
            answer: answers a frame that is a question, within so many seconds; None: the frame is what was asked for.
            questions: that it may ask.

        Raises:
            WorkerFailed: there is no answer.
            WorkerLate, LimitExceeded: and why.
            WorkerClosed: the controller stops.
        """
        channel, until = self.started(), time.monotonic() + self.timeout
        channel.output_bytes, channel.most_output = 0, self.limits.output_bytes
        with self.failures(channel):
            channel.send(payload, until)
            for _ in range(questions + 1):
                frame = channel.receive(self.limits.frame_bytes, "frame_bytes", until)
                said = answer(frame, FOR_SOURCES * (until - time.monotonic()))
                if said is None:
                    return frame
                channel.send(said, until)
        raise LimitExceeded("questions")

    def stop(self) -> None:
        """End the process; the next request starts another."""
        with self._lock:
            process, channel = self._process, self._channel
            self._process = self._channel = None
        if channel is not None:
            channel.close()
        if process is not None:
            _kill(process)
            process.wait()

    def close(self) -> None:
        """End the process for good; whoever waits for it gets WorkerClosed."""
        with self._lock:
            self._closed = True
        self.interrupt()
        self._stop_when_closed()

    def interrupt(self) -> None:
        """End what it is doing, from any thread; whoever waits for it gets WorkerFailed."""
        with self._lock:
            if self._process is not None:
                _kill(self._process)
            if self._channel is not None:
                self._channel.shut_down()

    def _stop_when_closed(self) -> None:
        """Called after each of the two that this waits for: `close`, and the end of a use."""
        if self._closed and self._use.acquire(blocking=False):
            try:
                self.stop()
            finally:
                self._use.release()

    @contextlib.contextmanager
    def failures(self, channel: WorkerChannel) -> Iterator[None]:
        """What is wrong with a worker, as WorkerFailed, or as WorkerClosed when it was ended from here."""
        try:
            yield
        except (ChannelClosed, msgspec.MsgspecError, RecursionError, ValueError) as error:
            if self._closed:
                raise WorkerClosed from error
            said = channel.tail
            raise WorkerFailed(f"{error}" + (f"; it wrote: {said}" if said else "")) from error

    @property
    def channel(self) -> WorkerChannel | None:
        """The channel of the process that runs; None when none does."""
        return self._channel

    def started(self) -> WorkerChannel:
        """The channel of the process, which is started when it does not run. Raises as `exchange` does, or OSError."""
        readable = self._sandbox_policy.readable if self._sandbox_policy else ()
        folders = tuple(map(_identity, readable))
        if folders != self._folders:  # one that was swapped or has come: the sandbox that stands does not grant it
            self.stop()
        if self._channel is not None:
            return self._channel
        self._folders = folders
        channel = self._start()
        with self.failures(channel):
            said = channel.receive(self.limits.frame_bytes, "frame_bytes", time.monotonic() + _START)
        self.lacking = said.decode(errors="replace")
        if self.lacking:
            log.warning("compile worker is not sandboxed", reason=self.lacking)
        return channel

    def _start(self) -> WorkerChannel:
        ours, theirs = socket.socketpair()
        output, written = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        os.set_blocking(written, True)
        module = ("saltern.run_module", self._module)
        settings = WorkerSettings(
            sandbox_policy=self._sandbox_policy,
            memory_bytes=self.limits.memory_bytes,
            max_states=self.limits.states,
            controller_pid=os.getpid(),
            niceness=self._niceness,
        )
        channel = WorkerChannel(ours, output)
        try:
            with theirs, self._lock:
                if self._closed:
                    raise WorkerClosed
                self._process = subprocess.Popen(
                    [sys.executable, "-P", "-m", *module, str(theirs.fileno()), settings.as_argument()],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=written,
                    stderr=written,
                    env=_environment(),
                    process_group=0,
                )
                self._channel = channel
        except BaseException:
            channel.close()
            raise
        finally:
            os.close(written)
        return channel


def _kill(process: subprocess.Popen[bytes]) -> None:
    """Kill it, with the programs that it runs if it may run any."""
    with contextlib.suppress(ProcessLookupError):
        if process.returncode is None:  # until it is waited for, nobody else has its number
            os.killpg(process.pid, signal.SIGKILL)


def _environment() -> dict[str, str]:
    """What a worker sees of ours. The seed is fixed: the order of a set is part of what is sent."""
    kept = {key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH", "HOME") if key in os.environ}
    return {**kept, "PYTHONHASHSEED": "0"}


def _identity(path: str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except OSError:
        return (0, 0)
    return (found.st_dev, found.st_ino)
