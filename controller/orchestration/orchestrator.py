"""Runs orchestrations: compiled, kept in the store, run in threads of their own, gone on with after a restart.

Called by the runner `state`. The order of steps, their requisites and retries are those of any run (`highstate.run`).
"""

from __future__ import annotations

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from controller.config.limits import OrchestrationLimits
from controller.orchestration.compiler import OrchestrationCompiler
from controller.orchestration.executor import StepExecutor
from controller.orchestration.journal import EVERY, Controls, StepJournal, result_of
from controller.orchestration.steps.step import StepContext
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.runners.runner_jobs import RunnerJobs
from controller.store.orchestrations.table import OrchestrationRecord, StepRecord
from highstate.run.ports import RunHooks, StartedTask, Task
from highstate.run.report import as_running, not_run
from highstate.run.runner import run
from highstate.types import Chunk, StateResult, state_title

_TEST = "#test"
_BEGIN = frozenset(f"state.{name}" for name in ("orchestrate", "orch", "sls", "orchestrate_single", "orchestrate_high"))
"""Functions of runners that begin an orchestration."""


@dataclass(slots=True, kw_only=True)
class _Going:
    """An orchestration that goes on."""

    controls: Controls
    chunks: Mapping[str, Chunk]


@dataclass(frozen=True, slots=True)
class _EarlyControl:
    """What is wanted of an orchestration before it goes on."""

    change: Callable[[_Going], None]
    done: asyncio.Future[None]

    def settle(self, own: _Going) -> None:
        """It goes on from now."""
        if self.done.done():
            return
        try:
            self.change(own)
        except ControllerCallFailed as error:
            self.done.set_exception(error)
        else:
            self.done.set_result(None)


@dataclass(slots=True, kw_only=True)
class Orchestrator:
    """All orchestrations of a controller."""

    own_id: str
    """Under which results stand, as those of Salt's master."""
    compiler: OrchestrationCompiler
    limits: OrchestrationLimits
    resumes: bool
    """Whether those that a controller did not live to end go on at the next start."""
    going: dict[str, _Going] = field(default_factory=dict)
    _early: defaultdict[str, list[_EarlyControl]] = field(default_factory=lambda: defaultdict(list))
    """Jid -> what is wanted of one that is being compiled."""
    _runners: RunnerJobs | None = None
    _threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=self.limits.at_once, thread_name_prefix="orchestration")

    def use(self, runners: RunnerJobs) -> None:
        """What begins runners for steps; the two need each other."""
        self._runners = runners

    @property
    def runners(self) -> RunnerJobs:
        """See `use`."""
        assert self._runners is not None  # noqa: S101 - the composition root sets it
        return self._runners

    async def compiled(
        self, context: RunnerContext, fun: str, sls: Sequence[str], options: Mapping[str, Any]
    ) -> tuple[Any, Sequence[str]]:
        """See `OrchestrationPort`."""
        return await self.compiler.compiled(self.own_id, fun, sls, options)

    def low_of(self, data: Mapping[str, Any]) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
        """See `OrchestrationPort`."""
        return self.compiler.low_of(data)

    async def run(
        self, context: RunnerContext, fun: str, sls: str, low: Sequence[Mapping[str, Any]], *, test: bool
    ) -> dict[str, Any]:
        """Run low chunks; the results in Salt's running dictionary, by tag.

        Args:
            context: the call whose jid it has.
            fun: the runner that was called.
            sls: what is run, for people.
            low: chunks in order.
            test: whether nothing is to be done.
        """
        if len(self.going) >= self.limits.at_once:
            raise ControllerCallFailed(f"{self.limits.at_once} orchestrations go on already: try again later")
        if len(low) > self.limits.steps:
            raise ControllerCallFailed(f"it has {len(low)} steps; the limit `steps` is {self.limits.steps}")
        record = OrchestrationRecord(
            jid=context.jid,
            fun=fun,
            user=context.user,
            created=context.ports.clock(),
            sls=sls,
            low=low,
            options={"test": test},
        )
        context.ports.store.orchestrations.create(record)
        return await self._go(context, record, {}, 0.0)

    async def resume(self, context: RunnerContext) -> dict[str, Any]:
        """Go on with one that an earlier controller began, at the steps that have no result."""
        store = context.ports.store.orchestrations
        record = store.get(context.jid)
        if record is None:
            raise ControllerCallFailed("this orchestration has ended")
        known = {step.key: result_of(step.result) for step in store.steps(context.jid) if step.result is not None}
        context.say({"message": f"goes on after a restart of the controller; {len(known)} steps have ended"})
        return await self._go(context, record, known, context.ports.clock() + self.limits.reconnect_seconds)

    def keeps(self, jid: str) -> bool:
        """Whether an orchestration goes on at the next start when the controller stops now."""
        return self.resumes and jid in self.going

    async def control(self, context: RunnerContext, jid: str, step: str | None, wanted: Any) -> None:
        """Pause a step (until when, None: for ever), have it end there (`kill`), or take that back (`resume`).

        One that is being compiled is waited for: it holds before its first step.
        """
        change = partial(self._change, context, jid, step, wanted)
        call = self.runners.running.get(jid)
        if jid in self.going:
            change(self.going[jid])
        elif call is not None and call.call.fun in _BEGIN:
            early = _EarlyControl(change, asyncio.get_running_loop().create_future())
            self._early[jid].append(early)
            ends: set[asyncio.Future[Any]] = {early.done, call.ended}
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if not early.done.done():
                self._early.pop(jid, None)
                raise ControllerCallFailed(f"orchestration {jid} has ended before its first step")
            early.done.result()
        else:
            hint = "; those that go on: saltern orchestrations list"
            raise ControllerCallFailed(f"no orchestration with jid {jid} goes on{hint}")

    def _change(self, context: RunnerContext, jid: str, step: str | None, wanted: Any, own: _Going) -> None:
        ids = {chunk.id for chunk in own.chunks.values()}
        if step is not None and step not in ids:
            raise ControllerCallFailed(f"it has no step {step!r}; its steps are {', '.join(sorted(ids))}")
        if wanted == "resume":
            own.controls.wanted.pop(step or EVERY, None)
        else:
            own.controls.wanted[step or EVERY] = wanted
        context.ports.store.orchestrations.control(jid, own.controls.wanted)
        own.controls.changed.set()

    def close(self) -> None:
        """The controller stops: no step is begun any more."""
        for one in self.going.values():
            one.controls.stopping.set()
            one.controls.changed.set()
        self._threads.shutdown(wait=False)

    async def _go(
        self, context: RunnerContext, record: OrchestrationRecord, known: dict[str, StateResult], reconnect_until: float
    ) -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        chunks = {chunk.tag: chunk for chunk in map(Chunk.from_salt, record.low)}
        test = bool(record.options.get("test"))
        controls = Controls(clock=context.ports.clock, wanted=dict(record.controls))
        own = self.going[record.jid] = _Going(controls=controls, chunks=chunks)
        for early in self._early.pop(record.jid, ()):
            early.settle(own)
        executor = StepExecutor(
            loop=loop,
            context_of=partial(self._step_context, context, reconnect_until),
            test=test,
            gate=controls.gate,
            stopping=controls.stopping,
        )

        def on_loop(work: Callable[[], Any]) -> Any:
            async def called() -> Any:
                return work()

            return executor.on_loop(called())

        journal = StepJournal(
            store=context.ports.store, jid=record.jid, on_loop=on_loop, clock=context.ports.clock, known=known
        )
        hooks = self._hooks(context, controls, on_loop)
        work = partial(run, chunks, executor, test=test, clock=context.ports.clock, journal=journal, hooks=hooks)
        try:
            results: dict[str, StateResult] = await loop.run_in_executor(self._threads, work)
            if controls.killed:
                results |= not_run(chunks, results, {}, "the orchestration was ended by state.soft_kill")
        finally:
            stopped = controls.stopping.is_set() or _cancelled()
            controls.stopping.set()
            controls.changed.set()
            if not (stopped and self.resumes):
                context.ports.store.orchestrations.end(record.jid)
            if not stopped:
                del self.going[record.jid]
        shown = as_running(chunks, results)
        for key, jid in executor.jids.items():
            if key in shown:
                shown[key]["__jid__"] = jid
        return shown

    def _step_context(self, context: RunnerContext, reconnect_until: float, key: str, test: bool) -> StepContext:
        own = key + _TEST if test else key
        store, now = context.ports.store.orchestrations, context.ports.clock()
        record = StepRecord(key=own, started=now) if test else store.begin_step(context.jid, own, now)
        if test:
            store.begin_step(context.jid, own, now)
        return StepContext(
            call=context,
            runners=self.runners,
            limits=self.limits,
            key=own,
            test=test,
            reconnect_until=reconnect_until,
            record=record,
        )

    def _hooks(
        self, context: RunnerContext, controls: Controls, on_loop: Callable[[Callable[[], Any]], Any]
    ) -> RunHooks:
        def on_start(key: str, done: int, total: int) -> None:
            on_loop(partial(context.say, {"message": f"[{done + 1}/{total}] {state_title(key)}"}))

        def on_result(key: str, chunk: Chunk, result: StateResult, total: int) -> str:
            word = {True: "ok", False: "failed", None: "would change"}[result.result]
            on_loop(partial(context.say, {"message": f"{state_title(key)}: {word}", "ret": result.as_salt(chunk)}, key))
            return ""

        return RunHooks(
            background=_in_thread,
            most_parallel=self.limits.parallel,
            stopping=lambda: controls.stopping.is_set() or controls.killed,
            left_off=controls.stopping.is_set,
            sleep=controls.sleep,
            on_start=on_start,
            on_result=on_result,
        )


def _cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


@dataclass(slots=True)
class _Thread:
    """A step of `parallel: True`."""

    thread: threading.Thread
    ended: list[tuple[StateResult, float]]
    failure: list[BaseException]

    def ready(self) -> bool:
        return not self.thread.is_alive()

    def wait(self) -> tuple[StateResult, float]:
        self.thread.join()
        if self.failure:
            raise self.failure[0]
        return self.ended[0]


def _in_thread(task: Task) -> StartedTask:
    ended: list[tuple[StateResult, float]] = []
    failure: list[BaseException] = []

    def work() -> None:
        try:
            ended.append(task())
        except BaseException as error:  # raised again by who waits
            failure.append(error)

    thread = threading.Thread(target=work, name="orchestration step", daemon=True)
    thread.start()
    return _Thread(thread, ended, failure)
