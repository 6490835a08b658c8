"""One worker of a pool: compiles requests in one process, whatever that does, and wherever it is.

Called by `compile_pool`, in a thread. While the process compiles, what it asks of the world is answered here, with keys
and passwords that it never sees (`compile_rpc_server`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Protocol

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_ports import ports_of
from controller.compilation.compile_rpc import FleetQuery
from controller.compilation.compile_rpc_server import PortCalls, RpcServer
from controller.compilation.workers.budget import CompileBudget, not_compiled
from controller.compilation.workers.channel import LimitExceeded, WorkerLate
from controller.compilation.workers.worker_process import ProcessLost, WorkerFailed
from controller.config.limits import CompileWorkerLimits, label_of
from controller.config.sections import PortOptions
from highstate.dummy_ports import without_secrets
from highstate.types import Pos, Problem, Stage
from options.limits import CountRefusal

_BATCH = 25


class ProcessPort(Protocol):
    """A process that compiles, on this machine (`CompileProcess`) or on another (`cluster.DaskProcess`)."""

    @property
    def timeout(self) -> float:
        """Seconds that one minion may take."""

    @property
    def limits(self) -> CompileWorkerLimits:
        """What is taken from it."""

    @property
    def pid(self) -> int:
        """Process id; 0 when it does not run."""

    def in_use(self) -> AbstractContextManager[None]:
        """Around the others but `interrupt` and `close`."""

    def send(self, request: CompileRequest) -> None:
        """Have it compile these minions."""

    def receive(self, minion_id: str, request: CompileRequest, rpc_server: RpcServer) -> CompiledMinion:
        """The answer about this minion, which is the next."""

    def stop(self) -> None:
        """End it; the next request starts another."""

    def interrupt(self) -> None:
        """End what it is doing, from any thread."""

    def close(self) -> None:
        """End it for good, from any thread."""


class PoolWorker:
    """Compiles requests in one process."""

    def __init__(self, process: ProcessPort, calls: PortCalls, on_refusal: CountRefusal) -> None:
        self.process = process
        self._calls = calls
        self._on_refusal = on_refusal
        self._listened: threading.Event | None = None
        """Of the compile that runs, or ran last."""
        self._interrupted: threading.Event | None = None
        """Of the last compile that was ended from outside."""

    def compile(
        self,
        request: CompileRequest,
        put: Callable[[list[CompiledMinion]], None],
        listened: threading.Event,
        fleet: FleetQuery | None,
        budget: CompileBudget | None,
    ) -> None:
        """Puts answers for all minions, in batches; one that hangs or breaks the process gets an error."""
        answers = _Answers(put)
        ports = ports_of(request.ports) if request.dummies is None else without_secrets(ports_of(request.ports))
        asked = fleet if request.dummies is None else None
        rpc_server = RpcServer(ports, request.language, request.minions, asked, self._calls)
        capabilities = rpc_server.capabilities._replace(dummies=request.dummies)
        request = replace(request, ports=PortOptions(), capabilities=capabilities, language=rpc_server.sealed)
        with self.process.in_use():
            self._listened = listened
            try:
                self._compile(request, answers, rpc_server, budget)
            finally:
                if request.ends_process:
                    self.process.stop()
        answers.flush()

    def interrupt(self, listened: threading.Event) -> None:
        """End the compile whose listener this was, if it is still the one that runs."""
        if self._listened is listened:
            self._interrupted = listened
            self.process.interrupt()

    def end(self) -> None:
        """End the process; the next request starts another."""
        with self.process.in_use():
            self.process.stop()

    def _compile(
        self, request: CompileRequest, answers: _Answers, rpc_server: RpcServer, budget: CompileBudget | None
    ) -> None:
        suspect = ""
        while len(answers) < len(request.minions):
            if budget is not None and budget.spent:
                answers.append(not_compiled(request.minions[len(answers)].id, budget))
                continue
            rest = request.minions[len(answers) :]
            try:
                self._stream(replace(request, minions=rest), answers, rpc_server, budget)
            except ProcessLost:  # with its machine: that says nothing of the minion
                self.process.stop()
                if self._interrupted is self._listened:
                    return
            except (WorkerLate, LimitExceeded, WorkerFailed, OSError) as error:
                self.process.stop()
                if self._interrupted is self._listened:
                    return
                if budget is not None and isinstance(error, WorkerLate):
                    budget.left -= 1
                culprit = request.minions[len(answers)].id
                # A process that died may have been killed from outside, and one that sends nonsense may do so for a
                # minion that it compiled before: only who is there again, as the first of a new process, breaks it.
                if isinstance(error, WorkerLate) or culprit == suspect:
                    answers.append(self._broken(culprit, error))
                suspect = culprit

    def _stream(
        self, request: CompileRequest, answers: _Answers, rpc_server: RpcServer, budget: CompileBudget | None
    ) -> None:
        """Adds to `answers` as they come, so that what arrived before a hang is kept."""
        self.process.send(request)
        for minion in request.minions:
            found = self.process.receive(minion.id, request, rpc_server)
            answers.append(found if budget is None else budget.admitted(found))

    def _broken(self, minion_id: str, error: Exception) -> CompiledMinion:
        match error:
            case WorkerLate():
                why = f"took more than {self.process.timeout:g} s"
            case LimitExceeded(limit=limit):
                self._on_refusal(label_of(limit))
                most = getattr(self.process.limits, limit)
                why = f"was given up: its process went beyond the limit {label_of(limit)} ({most})"
            case _:
                why = f"ended the compile process ({error!r})"
        hint = "look for a loop that never ends in a template of this minion, or raise compile_timeout"
        if isinstance(error, LimitExceeded):
            hint = f"see what Python of the tree does, or raise {error.limit} of compile_worker in limits"
        problem = Problem(
            message=f"compiling the highstate of {minion_id} {why}",
            pos=Pos(file="top.sls", stage=Stage.RENDER),
            hint=hint,
        )
        return CompiledMinion(minion_id=minion_id, errors=(problem,))


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
