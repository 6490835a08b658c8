"""Compiles fleets: in worker processes, so that a template that never ends costs its own minion only.

Called by the loop and by previews. It decides nothing: what went wrong is in the answer. While a worker compiles, what
it asks of the world is answered here, with keys and passwords that it never sees (`port_calls`).
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Protocol

import msgspec
import structlog

from controller.compilation.compile_ports import ports_of
from controller.compilation.compile_rpc import FleetQuery, PortCall
from controller.compilation.compile_rpc_server import RpcServer
from controller.compilation.compile_worker import CompiledMinion, CompileRequest
from controller.compilation.sandbox import SandboxPolicy
from controller.config.sections import PortOptions
from highstate.types import Minion, Pos, Problem, Stage

log = structlog.get_logger()

_BATCH = 25
_START = 60.0
"""Seconds until a new process has to be there."""
_DECODER = msgspec.msgpack.Decoder(CompiledMinion | PortCall)


class CompilePort(Protocol):
    """Compiles the minions of a request; every minion gets exactly one answer."""

    async def compile(self, request: CompileRequest) -> list[CompiledMinion]:
        """Answers in the order of `request.minions`."""

    def stream(self, request: CompileRequest) -> AsyncGenerator[list[CompiledMinion], None]:
        """Answers in batches as they come, in no order: a fleet's documents need not be held all at once."""

    def close(self) -> None:
        """End its processes."""


class CompilePool:
    """`workers` processes; minions are dealt to them by class, so that a memo sees its like again.

    Args:
        workers: processes to use.
        timeout: seconds that one minion may take.
        sandbox_policy: what the processes may do; None: all that their user may.
        fleet: answers what compiles ask of the fleet; called from the threads of the processes.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        timeout: float = 60.0,
        sandbox_policy: SandboxPolicy | None = None,
        fleet: FleetQuery | None = None,
    ) -> None:
        self._fleet = fleet
        self._workers = [_Worker(timeout, sandbox_policy) for _ in range(workers)]
        self._locks = [asyncio.Lock() for _ in range(workers)]
        self._running: set[asyncio.Task[None]] = set()
        self._homes: dict[str, int] = {}
        """Minion -> worker, which has it and its like in its memo."""

    @property
    def workers(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return tuple(pid for worker in self._workers if (pid := worker.pid))

    async def compile(self, request: CompileRequest) -> list[CompiledMinion]:
        """See `CompilePort`."""
        by_id = {answer.minion_id: answer async for batch in self.stream(request) for answer in batch}
        return [by_id[minion.id] for minion in request.minions]

    async def stream(self, request: CompileRequest) -> AsyncGenerator[list[CompiledMinion], None]:
        """See `CompilePort`."""
        shares = self._shares(request.minions)
        batches: asyncio.Queue[list[CompiledMinion] | None] = asyncio.Queue(maxsize=4 * len(self._workers))
        listened = threading.Event()
        listened.set()
        tasks = [
            asyncio.ensure_future(self._share(index, replace(request, minions=share), batches, listened))
            for index, share in shares.items()
        ]
        for task in tasks:
            self._running.add(task)
            task.add_done_callback(self._running.discard)
        try:
            ended = 0
            while ended < len(tasks):
                batch = await batches.get()
                if batch is None:
                    ended += 1
                else:
                    yield batch
            await asyncio.gather(*tasks)
        finally:
            # When nobody listens any more the workers run on: what they find stays in their memos.
            listened.clear()
            while not batches.empty():
                batches.get_nowait()

    async def _share(
        self,
        index: int,
        request: CompileRequest,
        batches: asyncio.Queue[list[CompiledMinion] | None],
        listened: threading.Event,
    ) -> None:
        loop = asyncio.get_running_loop()

        def put(batch: list[CompiledMinion]) -> None:
            if listened.is_set():
                asyncio.run_coroutine_threadsafe(batches.put(batch), loop).result()

        try:
            async with self._locks[index]:
                await asyncio.to_thread(self._workers[index].compile, request, put, self._fleet)
        finally:
            await batches.put(None)

    def _shares(self, minions: Sequence[Minion]) -> dict[int, tuple[Minion, ...]]:
        """Worker -> minions. Each stays with the worker that it had; new ones are dealt out by class."""
        new = sorted((each for each in minions if each.id not in self._homes), key=_class_key)
        size = -(-len(new) // len(self._workers)) or 1
        self._homes |= {each.id: at // size for at, each in enumerate(new)}
        shares: dict[int, list[Minion]] = {}
        for minion in sorted(minions, key=_class_key):
            shares.setdefault(self._homes[minion.id], []).append(minion)
        return {index: tuple(share) for index, share in shares.items()}

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.close()


def _class_key(minion: Minion) -> tuple[str, ...]:
    """The grains that trees branch on; ties by id. Systems come first, so that a role is spread over the workers."""
    return (*(str(minion.grains.get(name)) for name in ("osfinger", "os", "roles", "role")), minion.id)


class _Worker:
    """One process, started when first needed and again after it was killed."""

    def __init__(self, timeout: float, sandbox_policy: SandboxPolicy | None) -> None:
        self._timeout = timeout
        self._sandbox_policy = sandbox_policy
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None
        self._closed = False
        self._ways: tuple[tuple[int, int], ...] = ()
        """The folders that the sandbox grants, as the process found them: the kernel knows them by these numbers."""

    def compile(
        self, request: CompileRequest, put: Callable[[list[CompiledMinion]], None], fleet: FleetQuery | None = None
    ) -> None:
        """Puts answers for all minions, in batches; one that hangs or breaks the process gets an error."""
        answers = _Answers(put)
        rpc_server = RpcServer(ports_of(request.ports), request.language, request.minions, fleet)
        request = replace(
            request, ports=PortOptions(), capabilities=rpc_server.capabilities, language=rpc_server.sealed
        )
        suspect = ""
        while len(answers) < len(request.minions):
            rest = request.minions[len(answers) :]
            try:
                self._stream(replace(request, minions=rest), answers, rpc_server)
            except (_Hung, EOFError, OSError, msgspec.MsgspecError) as error:
                self.stop()
                if self._closed:
                    raise
                culprit = request.minions[len(answers)].id
                # A process that died may have been killed from outside: only who is there again breaks it.
                if isinstance(error, _Hung) or culprit == suspect:
                    answers.append(_broken(culprit, error, self._timeout))
                suspect = culprit
        answers.flush()

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""
        return self._process.pid if self._process is not None else 0

    def _stream(self, request: CompileRequest, answers: _Answers, rpc_server: RpcServer) -> None:
        """Adds to `answers` as they come, so that what arrived before a hang is kept."""
        connection = self._running()
        connection.send_bytes(pickle.dumps(request))
        for _ in request.minions:
            answers.append(self._next(connection, rpc_server))

    def _next(self, connection: Connection, rpc_server: RpcServer) -> CompiledMinion:
        """The next minion's answer; what is asked before is answered, within the same time."""
        until = time.monotonic() + self._timeout
        while connection.poll(max(0.0, until - time.monotonic())):
            said = _DECODER.decode(connection.recv_bytes())
            if isinstance(said, CompiledMinion):
                return said
            # A source that hangs is named by the error that the compile makes of it: the rest of the time is for that.
            within = 0.9 * (until - time.monotonic())
            connection.send_bytes(pickle.dumps(rpc_server.answer(said, within)))
        raise _Hung

    def _running(self) -> Connection:
        readable = self._sandbox_policy.readable if self._sandbox_policy else ()
        ways = tuple(map(_identity, readable))
        if ways != self._ways:  # a folder that was swapped or has come: the sandbox that stands does not grant it
            self.stop()
        if self._connection is None:
            self._ways = ways
            ours, theirs = socket.socketpair()
            sandbox_policy = msgspec.json.encode(self._sandbox_policy).decode()
            with theirs:
                self._process = subprocess.Popen(
                    [
                        sys.executable,
                        "-P",
                        "-m",
                        "controller.compilation.compile_worker",
                        str(theirs.fileno()),
                        sandbox_policy,
                    ],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env=_environment(),
                )
            self._connection = Connection(ours.detach())
            if not self._connection.poll(_START):
                raise _Hung
            if lacking := self._connection.recv_bytes().decode():
                log.warning("compile worker is not sandboxed", reason=lacking)
        return self._connection

    def close(self) -> None:
        """End the process for good, whoever waits for it."""
        self._closed = True
        self.stop()

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._connection = self._process = None


class _Answers:
    """Counts answers and hands them on in batches."""

    def __init__(self, put: Callable[[list[CompiledMinion]], None]) -> None:
        self._put = put
        self._batch: list[CompiledMinion] = []
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def append(self, answer: CompiledMinion) -> None:
        """One more."""
        self._count += 1
        self._batch.append(answer)
        if len(self._batch) >= _BATCH:
            self.flush()

    def flush(self) -> None:
        """Hand on what there is."""
        if self._batch:
            batch, self._batch = self._batch, []
            self._put(batch)


class _Hung(Exception):
    pass


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


def _broken(minion_id: str, error: Exception, timeout: float) -> CompiledMinion:
    why = f"took more than {timeout:g} s" if isinstance(error, _Hung) else f"ended the compile process ({error!r})"
    problem = Problem(
        message=f"compiling the highstate of {minion_id} {why}",
        pos=Pos(file="top.sls", stage=Stage.RENDER),
        hint="look for a loop that never ends in a template of this minion, or raise compile_timeout",
    )
    return CompiledMinion(minion_id=minion_id, errors=(problem,))
