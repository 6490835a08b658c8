"""Compiles fleets: in worker processes, so that a template that never ends costs its own minion only.

Called by the loop and by previews. It decides nothing: what went wrong is in the answer. Where the processes are, on
this machine or on others, is the affair of a `ProcessSource`.
"""

from __future__ import annotations

import asyncio
import math
import threading
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol
from zlib import crc32

from controller.compilation.compile_messages import CompiledMinion, CompileRequest
from controller.compilation.compile_rpc import FleetQuery
from controller.compilation.compile_rpc_server import PortCalls
from controller.compilation.sandbox import SandboxPolicy
from controller.compilation.workers.budget import CompileBudget
from controller.compilation.workers.pool_worker import PoolWorker, ProcessPort
from controller.compilation.workers.process import CompileProcess
from controller.compilation.workers.template_codes import TemplateCodes
from controller.config.limits import CompileWorkerLimits
from highstate.types import Minion
from options.limits import CountRefusal, uncounted

_MOST_PROCESSES = 512
_UNEVEN = 1.5
"""A worker that has so many times its part of a request's minions has too many."""
_LIMITS = CompileWorkerLimits()


class CompilePort(Protocol):
    """Compiles the minions of a request; every minion gets exactly one answer."""

    async def compile(self, request: CompileRequest, budget: CompileBudget | None = None) -> list[CompiledMinion]:
        """Answers in the order of `request.minions`; an error for those that come after `budget` is spent."""

    def stream(self, request: CompileRequest) -> AsyncGenerator[list[CompiledMinion], None]:
        """Answers in batches as they come, in no order: a fleet's documents need not be held all at once."""

    def close(self) -> None:
        """End its processes."""


class ProcessSource(Protocol):
    """Where the processes of a pool are: `LocalProcesses`, or `cluster.ClusterProcesses`."""

    def count(self) -> int:
        """How many are to be used now: one or more."""

    def process(self, index: int, codes: TemplateCodes) -> ProcessPort:
        """A process, which is started when it is first used. `codes`: of templates, which it takes, and gives."""

    def close(self) -> None:
        """Called when its processes are closed."""


def _unheard(_: str) -> None:
    """For who does not count."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalProcesses:
    """Processes of this machine."""

    workers: int
    timeout: float
    sandbox_policy: SandboxPolicy | None
    limits: CompileWorkerLimits
    niceness: int = 0
    gives_codes: bool = True
    """Whether codes that its processes make are kept for others."""
    compiled: Callable[[str], None] = _unheard
    """Hears `local` for each minion that was compiled; called from the threads that compile."""

    def count(self) -> int:
        """See `ProcessSource`."""
        return self.workers

    def process(self, index: int, codes: TemplateCodes) -> CompileProcess:
        """See `ProcessSource`."""
        return CompileProcess(
            self.timeout,
            self.sandbox_policy,
            self.limits,
            codes=codes,
            gives_codes=self.gives_codes,
            niceness=self.niceness,
            compiled=partial(self.compiled, "local"),
        )

    def close(self) -> None:
        """See `ProcessSource`."""


class CompilePool:
    """Processes that compile; minions are dealt to them by class, so that a memo sees its like again.

    Args:
        workers: processes of this machine to use.
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
        source: where the processes are, if not on this machine.
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
        source: ProcessSource | None = None,
    ) -> None:
        self._fleet = fleet
        self._few = few
        self._order: Callable[[Minion], Any] = _as_asked if in_order else _class_key
        self._calls = PortCalls(limits.waiting_calls, on_refusal)
        self.codes = TemplateCodes(limits.template_code_bytes) if codes is None else codes
        """Code of templates that its processes have made, or take."""
        self._source: ProcessSource = source or LocalProcesses(
            workers=workers,
            timeout=timeout,
            sandbox_policy=sandbox_policy,
            limits=limits,
            niceness=niceness,
            gives_codes=codes is None,
        )
        self._on_refusal = on_refusal
        self._workers: list[PoolWorker] = []
        self._threads = ThreadPoolExecutor(max_workers=_MOST_PROCESSES, thread_name_prefix="compile")
        self._closed: Future[None] = Future()
        self._ends_with_listener = ends_with_listener
        self._idle_seconds = idle_seconds
        self._idle: asyncio.TimerHandle | None = None
        self._locks: list[asyncio.Lock] = []
        self._running: set[asyncio.Task[None]] = set()
        self._homes: dict[str, int] = {}
        """Minion -> worker, which has it and its like in its memo."""
        self._dealt_to = 0
        """How many workers there were when they were dealt."""

    @property
    def processes(self) -> int:
        """How many it uses now."""
        return min(self._source.count(), _MOST_PROCESSES)

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
        self._prepare(self.processes)
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

    def _prepare(self, count: int) -> None:
        """Have so many workers; when there were more or fewer, minions are dealt anew."""
        while len(self._workers) < count:
            process = self._source.process(len(self._workers), self.codes)
            self._workers.append(PoolWorker(process, self._calls, self._on_refusal))
            self._locks.append(asyncio.Lock())
        if count != self._dealt_to:
            self._homes, self._dealt_to = {}, count

    def _shares(self, minions: Sequence[Minion]) -> dict[int, tuple[Minion, ...]]:
        """Worker -> minions. Each stays with the worker that it had; new ones are dealt out by class.

        Those that came one by one have one worker: where it has far more of them than its part, all are dealt anew.
        """
        had = Counter(self._homes[each.id] for each in minions if each.id in self._homes)
        if len(minions) > self._few and max(had.values(), default=0) > _UNEVEN * -(-len(minions) // self._dealt_to):
            for each in minions:
                self._homes.pop(each.id, None)
        new = sorted((each for each in minions if each.id not in self._homes), key=self._order)
        size = max(-(-len(new) // self._dealt_to), self._few)
        self._homes |= {each.id: at // size for at, each in enumerate(new)}
        shares: dict[int, list[Minion]] = {}
        for minion in sorted(minions, key=self._order):
            shares.setdefault(self._homes[minion.id], []).append(minion)
        if self._order is _class_key and len(shares) > 1:
            for index, share in shares.items():
                share.sort(key=partial(_turn, index))
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
        self._source.close()
        self._threads.shutdown(wait=False)


def _turn(index: int, minion: Minion) -> tuple[int, tuple[str, ...]]:
    """The order of a worker's share: classes in another order for each, so that one takes templates that another made.

    In one order they would come to the same templates at the same time, and each would make their code.
    """
    key = _class_key(minion)
    return crc32(repr((index, key[:-1])).encode()), key


def _as_asked(_: Minion) -> int:
    """Leaves the order as it is."""
    return 0


def _class_key(minion: Minion) -> tuple[str, ...]:
    """The grains that trees branch on; ties by id. Systems come first, so that a role is spread over the workers."""
    return (*(str(minion.grains.get(name)) for name in ("osfinger", "os", "roles", "role")), minion.id)
