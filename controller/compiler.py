"""Compiles fleets: in worker processes, so that a template that never ends costs its own minion only.

Called by the loop and by previews. It decides nothing: what went wrong is in the answer.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import Protocol

import msgspec

from controller.compile_worker import CompiledMinion, Request
from highstate.types import Minion, Pos, Problem, Stage

_DECODER = msgspec.msgpack.Decoder(CompiledMinion)


class Compiler(Protocol):
    """Compiles the minions of a request; every minion gets exactly one answer."""

    async def compile(self, request: Request) -> list[CompiledMinion]:
        """Answers in the order of `request.minions`."""

    def close(self) -> None:
        """End its processes."""


class ProcessCompiler:
    """`workers` processes; minions are dealt to them by class, so that a memo sees its like again.

    Args:
        workers: processes to use.
        timeout: seconds that one minion may take.
    """

    def __init__(self, *, workers: int = 1, timeout: float = 60.0) -> None:
        self._workers = [_Worker(timeout) for _ in range(workers)]
        self._locks = [asyncio.Lock() for _ in range(workers)]

    @property
    def workers(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return tuple(pid for worker in self._workers if (pid := worker.pid))

    async def compile(self, request: Request) -> list[CompiledMinion]:
        """See `Compiler`."""
        shares = _shares(request.minions, len(self._workers))
        answers = await asyncio.gather(
            *(self._share(index, replace(request, minions=share)) for index, share in enumerate(shares) if share)
        )
        by_id = {answer.minion_id: answer for batch in answers for answer in batch}
        return [by_id[minion.id] for minion in request.minions]

    async def _share(self, index: int, request: Request) -> list[CompiledMinion]:
        async with self._locks[index]:
            return await asyncio.to_thread(self._workers[index].compile, request)

    def close(self) -> None:
        """End the processes."""
        for worker in self._workers:
            worker.stop()


def _shares(minions: Sequence[Minion], count: int) -> list[tuple[Minion, ...]]:
    """Contiguous shares of the minions ordered by the grains that trees branch on."""
    ordered = sorted(
        minions, key=lambda each: (str(each.grains.get("osfinger")), str(each.grains.get("roles")), each.id)
    )
    size = -(-len(ordered) // count) or 1
    return [tuple(ordered[start : start + size]) for start in range(0, len(ordered), size)]


class _Worker:
    """One process, started when first needed and again after it was killed."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._connection: Connection | None = None

    def compile(self, request: Request) -> list[CompiledMinion]:
        """Answers for all minions; one that hangs or breaks the process gets an error, the rest go on."""
        answers: list[CompiledMinion] = []
        suspect = ""
        while len(answers) < len(request.minions):
            rest = request.minions[len(answers) :]
            try:
                self._stream(replace(request, minions=rest), answers)
            except (_Hung, EOFError, OSError) as error:
                self.stop()
                culprit = request.minions[len(answers)].id
                # A process that died may have been killed from outside: only who is there again breaks it.
                if isinstance(error, _Hung) or culprit == suspect:
                    answers.append(_broken(culprit, error, self._timeout))
                suspect = culprit
        return answers

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""
        return self._process.pid if self._process is not None else 0

    def _stream(self, request: Request, answers: list[CompiledMinion]) -> None:
        """Adds to `answers` as they come, so that what arrived before a hang is kept."""
        connection = self._running()
        connection.send_bytes(pickle.dumps(request))
        for _ in request.minions:
            if not connection.poll(self._timeout):
                raise _Hung
            answers.append(_DECODER.decode(connection.recv_bytes()))

    def _running(self) -> Connection:
        if self._connection is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self._process = subprocess.Popen(
                    [sys.executable, "-m", "controller.compile_worker", str(theirs.fileno())],
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    env={key: os.environ[key] for key in ("PATH", "LANG", "PYTHONPATH", "HOME") if key in os.environ},
                )
            self._connection = Connection(ours.detach())
        return self._connection

    def stop(self) -> None:
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.wait()
        self._connection = self._process = None


class _Hung(Exception):
    pass


def _broken(minion_id: str, error: Exception, timeout: float) -> CompiledMinion:
    why = f"took more than {timeout:g} s" if isinstance(error, _Hung) else f"ended the compile process ({error!r})"
    problem = Problem(
        message=f"compiling the highstate of {minion_id} {why}",
        pos=Pos(file="top.sls", stage=Stage.RENDER),
        hint="look for a loop that never ends in a template of this minion, or raise compile_timeout",
    )
    return CompiledMinion(minion_id=minion_id, errors=(problem,))
