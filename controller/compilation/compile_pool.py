"""Compiles fleets: in worker processes, so that a template that never ends costs its own minion only.

Called by the loop and by previews. It decides nothing: what went wrong is in the answer. While a worker compiles, what
it asks of the world is answered here, with keys and passwords that it never sees (`compile_rpc_server`).
"""

from __future__ import annotations

import asyncio
import math
import sys
import threading
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_ports import ports_of
from controller.compilation.compile_rpc import FleetQuery
from controller.compilation.compile_rpc_server import PortCalls, RpcServer
from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.workers.channel import LimitExceeded, WorkerLate
from controller.compilation.workers.process import CompileProcess
from controller.compilation.workers.template_codes import TemplateCodes
from controller.compilation.workers.worker_process import WorkerFailed
from controller.config.limits import CompileWorkerLimits, label_of
from controller.config.sections import PortOptions
from highstate.dummy_ports import without_secrets
from highstate.types import Minion, Pos, Problem, Stage
from options.limits import CountRefusal, uncounted

_BATCH = 25
_LIMITS = CompileWorkerLimits()


class CompileBudget:
    """What one asker may take.

    Args:
        count: of minions that take longer than the timeout of the pool; then the others are not compiled.
        most_bytes: of documents that the asker has got and not released; further ones are errors.
    """

    def __init__(self, count: int, most_bytes: int = sys.maxsize) -> None:
        self.count = count
        self.left = count
        self.most_bytes = most_bytes
        self.refused: set[str] = set()
        """Minions of which a document was too large beside the others."""
        self._held = 0
        self._lock = threading.Lock()

    @property
    def spent(self) -> bool:
        """Whether nothing more is compiled."""
        return self.left <= 0

    def admitted(self, found: CompiledMinion) -> CompiledMinion:
        """The answer, or an error where its document is too much beside those that are held. From any thread."""
        with self._lock:
            if self._held + len(found.document) <= self.most_bytes:
                self._held += len(found.document)
                return found
            self.refused.add(found.minion_id)
        return _not_held(found.minion_id, self)

    def release(self, found: Iterable[CompiledMinion]) -> None:
        """These were admitted, and are not held any more."""
        size = sum(len(each.document) for each in found)
        with self._lock:
            self._held -= size


class CompilePort(Protocol):
    """Compiles the minions of a request; every minion gets exactly one answer."""

    async def compile(self, request: CompileRequest, budget: CompileBudget | None = None) -> list[CompiledMinion]:
        """Answers in the order of `request.minions`; an error for those that come after `budget` is spent."""

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
        limits: what is taken from a process.
        on_refusal: hears the name of a limit that a process went beyond.
        ends_with_listener: end the processes when nobody waits for their answers any more, instead of letting them
            go on and keep what they find.
        idle_seconds: until processes end that have nothing to do.
        niceness: added to what every compile worker has.
        few: minions for which no second process is used.
        in_order: minions that are alike come one after the other in requests, and are dealt in this order.
        codes: code of templates that processes of other pools have made; those of this pool only take it.
    """

    def __init__(
        self,
        *,
        workers: int = 1,
        timeout: float = 60.0,
        sandbox_policy: SandboxPolicy | None = None,
        fleet: FleetQuery | None = None,
        limits: CompileWorkerLimits = _LIMITS,
        on_refusal: CountRefusal = uncounted,
        ends_with_listener: bool = False,
        idle_seconds: float = math.inf,
        niceness: int = 0,
        few: int = 1,
        in_order: bool = False,
        codes: TemplateCodes | None = None,
    ) -> None:
        self._fleet = fleet
        self._few = few
        self._order: Callable[[Minion], Any] = _as_asked if in_order else _class_key
        self._calls = PortCalls(limits.waiting_calls, on_refusal)
        self.codes = TemplateCodes(limits.template_code_bytes) if codes is None else codes
        """Code of templates that its processes have made, or take."""
        made = partial(CompileProcess, timeout, sandbox_policy, limits, niceness=niceness)
        self._workers = [
            _Worker(made(codes=self.codes, gives_codes=codes is None), self._calls, on_refusal) for _ in range(workers)
        ]
        self._threads = ThreadPoolExecutor(max_workers=workers, thread_name_prefix="compile")
        self._closed: Future[None] = Future()
        self._ends_with_listener = ends_with_listener
        self._idle_seconds = idle_seconds
        self._idle: asyncio.TimerHandle | None = None
        self._locks = [asyncio.Lock() for _ in range(workers)]
        self._running: set[asyncio.Task[None]] = set()
        self._homes: dict[str, int] = {}
        """Minion -> worker, which has it and its like in its memo."""

    @property
    def processes(self) -> int:
        """How many it uses at most."""
        return len(self._workers)

    @property
    def workers(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        return tuple(pid for worker in self._workers if (pid := worker.process.pid))

    async def compile(self, request: CompileRequest, budget: CompileBudget | None = None) -> list[CompiledMinion]:
        """See `CompilePort`."""
        async with aclosing(self.stream(request, budget)) as batches:
            by_id = {answer.minion_id: answer async for batch in batches for answer in batch}
        return [by_id[minion.id] for minion in request.minions]

    async def stream(
        self, request: CompileRequest, budget: CompileBudget | None = None
    ) -> AsyncGenerator[list[CompiledMinion], None]:
        """See `CompilePort`."""
        shares = {0: request.minions} if request.dummies is not None else self._shares(request.minions)
        batches: asyncio.Queue[list[CompiledMinion] | None] = asyncio.Queue(maxsize=4 * len(self._workers))
        listened = threading.Event()
        listened.set()
        tasks = [
            asyncio.ensure_future(self._share(index, replace(request, minions=share), batches, listened, budget))
            for index, share in shares.items()
        ]
        for task in tasks:
            self._running.add(task)
            task.add_done_callback(self._ended)
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
            # When nobody listens any more the workers run on, if not told otherwise: what they find stays in memos.
            listened.clear()
            if self._ends_with_listener:
                for index, task in zip(shares, tasks, strict=True):
                    if not task.done():
                        self._workers[index].interrupt(listened)
            while not batches.empty():
                batches.get_nowait()

    async def _share(
        self,
        index: int,
        request: CompileRequest,
        batches: asyncio.Queue[list[CompiledMinion] | None],
        listened: threading.Event,
        budget: CompileBudget | None,
    ) -> None:
        loop = asyncio.get_running_loop()

        def put(batch: list[CompiledMinion]) -> None:
            if listened.is_set() and not self._closed.done():
                taken: list[Future[Any]] = [asyncio.run_coroutine_threadsafe(batches.put(batch), loop), self._closed]
                wait(taken, return_when=FIRST_COMPLETED)  # a loop that has ended takes nothing any more

        try:
            async with self._locks[index]:
                if listened.is_set() or not self._ends_with_listener:
                    compile_all = partial(self._workers[index].compile, request, put, listened, self._fleet, budget)
                    await loop.run_in_executor(self._threads, compile_all)
        finally:
            await batches.put(None)

    def _shares(self, minions: Sequence[Minion]) -> dict[int, tuple[Minion, ...]]:
        """Worker -> minions. Each stays with the worker that it had; new ones are dealt out by class."""
        new = sorted((each for each in minions if each.id not in self._homes), key=self._order)
        size = max(-(-len(new) // len(self._workers)), self._few)
        self._homes |= {each.id: at // size for at, each in enumerate(new)}
        shares: dict[int, list[Minion]] = {}
        for minion in sorted(minions, key=self._order):
            shares.setdefault(self._homes[minion.id], []).append(minion)
        return {index: tuple(share) for index, share in shares.items()}

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not self._running and self._idle_seconds < math.inf:
            if self._idle is not None:
                self._idle.cancel()
            self._idle = task.get_loop().call_later(self._idle_seconds, self._end_idle)
        if not task.cancelled():
            task.exception()  # the listener has the error; there may be none any more

    def _end_idle(self) -> None:
        if not self._running:
            for worker in self._workers:
                self._threads.submit(worker.end)

    def close(self) -> None:
        """End the processes. Compiles that are under way end at once, whatever they wait for."""
        if self._idle is not None:
            self._idle.cancel()
        self._calls.close()
        if not self._closed.done():
            self._closed.set_result(None)
        for worker in self._workers:
            worker.process.close()
        self._threads.shutdown(wait=False)


def _as_asked(_: Minion) -> int:
    """Leaves the order as it is."""
    return 0


def _class_key(minion: Minion) -> tuple[str, ...]:
    """The grains that trees branch on; ties by id. Systems come first, so that a role is spread over the workers."""
    return (*(str(minion.grains.get(name)) for name in ("osfinger", "os", "roles", "role")), minion.id)


class _Worker:
    """Compiles requests in one process."""

    def __init__(self, process: CompileProcess, calls: PortCalls, on_refusal: CountRefusal) -> None:
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
                answers.append(_not_compiled(request.minions[len(answers)].id, budget))
                continue
            rest = request.minions[len(answers) :]
            try:
                self._stream(replace(request, minions=rest), answers, rpc_server, budget)
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


def _not_held(minion_id: str, budget: CompileBudget) -> CompiledMinion:
    problem = Problem(
        message=f"the document of {minion_id} is too large beside those that are compared with it: together they are "
        f"more than {budget.most_bytes} bytes",
        pos=Pos(file="top.sls", stage=Stage.COMPILE),
        hint="raise waiting_bytes of preview in the option limits",
    )
    return CompiledMinion(minion_id=minion_id, errors=(problem,))


def _not_compiled(minion_id: str, budget: CompileBudget) -> CompiledMinion:
    problem = Problem(
        message=f"{minion_id} was not compiled: {budget.count} other minions took too long",
        pos=Pos(file="top.sls", stage=Stage.RENDER),
        hint="look at their errors first",
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
