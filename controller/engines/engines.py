"""Keeps the engines of the administrator running: each in a process of its own, begun again when it ends.

Started by `controller.app`, and ended with the controller. An engine that ends is begun again after a pause, which
grows while it ends at once. How fast events come from it is bounded: one that sends more waits.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import structlog

from controller.config.engines import EngineSettings
from controller.config.limits import EngineLimits
from controller.reconcile.jids import Jids
from controller.runners import registry
from controller.runners.context import RunnerContext, RunnerPorts
from controller.runners.errors import ControllerCallFailed
from controller.runners.listener import Listener
from controller.runners.processes.messages import NEXT_EVENTS
from controller.runners.processes.processes import NOT_FOR_TREES, RunnerProcesses
from controller.schema.minions import EngineStatus
from options.limits import CountRefusal
from reactors.bus import QueueBounds, Subscription
from reactors.tags import as_salt

log = structlog.get_logger("saltern.engines")

FIRST_PAUSE = 1.0
"""Seconds until an engine that has ended is begun again; twice as long each time that it ends at once."""
LONGEST_PAUSE = 60.0
STEADY_SECONDS = 60.0
"""An engine that has run for so long has not ended at once."""
REPLACED = "a revision brings other code for it"
"""Why an engine of the tree ended that is begun anew at once."""
_LONGEST_WAIT = 1.0
"""Seconds that an engine waits for events in one question; meanwhile its other threads cannot ask."""


class EngineOutput(Listener):
    """What an engine prints goes to the log."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    async def write(self, text: str) -> None:
        """Log a text, line by line."""
        for line in text.splitlines():
            log.info("engine says", engine=self._name, text=line[:2000])


@dataclass(slots=True, kw_only=True)
class Engines:
    """The engines that are configured. Times are seconds."""

    configured: Sequence[EngineSettings]
    ports: RunnerPorts
    processes: RunnerProcesses
    ids: Jids
    limits: EngineLimits
    on_refusal: CountRefusal
    _statuses: dict[str, EngineStatus] = field(default_factory=dict)

    @property
    def statuses(self) -> list[EngineStatus]:
        """How they are doing, in the order of the configuration; none before they were begun."""
        return [self._statuses[one.name] for one in self.configured if one.name in self._statuses]

    async def run(self) -> None:
        """Keep them running until cancelled."""
        async with asyncio.TaskGroup() as group:
            for engine in self.configured:
                group.create_task(self._keep(engine), name=f"engine {engine.name}")

    async def _keep(self, engine: EngineSettings) -> None:
        pause, now, clock = FIRST_PAUSE, asyncio.get_running_loop().time, self.ports.clock
        self._statuses[engine.name] = EngineStatus(
            engine=engine.name, module=engine.module, state="running", since=clock()
        )
        while True:
            began = now()
            self._note(engine, state="running", since=clock(), again_at=None)
            error = await self._start(engine)
            if error == REPLACED:
                log.info("engine begins anew, since a revision changed it", engine=engine.name)
                self._note(engine, error="", failures=0)
                continue
            steady = now() - began >= STEADY_SECONDS
            pause = FIRST_PAUSE if steady else pause
            failures = 1 if steady else self._statuses[engine.name].failures + 1
            self._note(engine, state="waiting", since=clock(), again_at=clock() + pause, error=error, failures=failures)
            data = {"engine": engine.name, "error": error, "again_in": pause}
            self.ports.bus.publish(f"saltern/engine/{engine.name}/ended", data)
            log.error("engine ended, and is begun again", engine=engine.name, seconds=pause, error=error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _note(self, engine: EngineSettings, **changed: Any) -> None:
        """Keep what is told of an engine."""
        self._statuses[engine.name] = msgspec.structs.replace(self._statuses[engine.name], **changed)

    def _waited(self, engine: EngineSettings) -> None:
        """An engine waits, since it sends events too fast."""
        self.on_refusal("events-per-second")
        waits = self._statuses[engine.name].waits
        if not waits:
            rate = self.limits.events_per_second
            log.warning("engine sends events faster than it may, and waits", engine=engine.name, events_per_second=rate)
        self._note(engine, waits=waits + 1)

    async def _start(self, engine: EngineSettings) -> str:
        """Run an engine until it ends; why it did."""
        tag = f"saltern/engine/{engine.name}/started"
        event = self.ports.bus.publish(tag, {"engine": engine.name, "module": engine.module})
        context = RunnerContext(
            ports=self.ports,
            jid=self.ids.next(),
            user="Engine",
            cause=event.id,
            listener=EngineOutput(engine.name),
            say=_say_nothing,
        )
        with contextlib.ExitStack() as stack:
            bounds = QueueBounds(events=self.limits.waiting_events, size=self.limits.waiting_bytes)
            answers = _EngineAnswers(
                limits=self.limits,
                on_wait=partial(self._waited, engine),
                listen=lambda: stack.enter_context(
                    self.ports.bus.subscribe_to(lambda _: True, bounds=bounds, on_refusal=self.on_refusal)
                ),
            )
            try:
                if engine.of_tree:
                    return await self._run_of_tree(engine, context, answers)
                await self.processes.engine(context, engine.module, engine.arguments, self.limits, answers.answer)
            except ControllerCallFailed as error:
                return self._named(str(error))
            except Exception as error:  # the border of one engine: it ends no other, and not the controller
                log.error("engine failed", engine=engine.name, exc_info=error)
                return f"{type(error).__name__}: {error}"
        return "its function start has returned"

    async def _run_of_tree(self, engine: EngineSettings, context: RunnerContext, answers: _EngineAnswers) -> str:
        """Run an engine of the live tree until it ends, or the tree has another for it; why it did.

        Where the tree does not bring it, wait until one does.
        """
        with self.ports.bus.subscribe("saltern/revision/*/live") as revisions:
            code = await self.processes.engine_code(engine.module)
            if not code:
                why = f"the live tree has no _engines/{engine.module}.py"
                self._note(engine, state="waiting", error=why)
                log.warning("engine waits for a revision that brings it", engine=engine.name, error=why)
                await self._replaced(revisions, engine, code)
                return REPLACED
            answers.of_tree = True
            process = self.processes.engine_of_tree(
                context, engine.module, engine.arguments, self.limits, answers.answer
            )
            running = asyncio.ensure_future(process)
            replaced = asyncio.ensure_future(self._replaced(revisions, engine, code))
            try:
                await asyncio.wait((running, replaced), return_when=asyncio.FIRST_COMPLETED)
                if running.done():
                    running.result()
                    return "its function start has returned"
                return REPLACED
            finally:
                await _cancel(running, replaced)

    async def _replaced(self, revisions: Subscription, engine: EngineSettings, code: str) -> None:
        """Wait for a revision with other code for an engine."""
        while await self.processes.engine_code(engine.module) == code:
            await revisions.wait()
            revisions.drain()

    def _named(self, error: str) -> str:
        """Why an engine ended, with the limit that it was over where it was its memory."""
        if "MemoryError" not in error:
            return error
        self.on_refusal("memory-bytes")
        return f"{error} (it may have {self.limits.memory_bytes} bytes of memory: limits: engine: memory_bytes)"


@dataclass(slots=True, kw_only=True)
class _EngineAnswers:
    """Answers the questions of the process of one engine."""

    limits: EngineLimits
    on_wait: Callable[[], None]
    listen: Callable[[], Subscription]
    of_tree: bool = False
    _subscription: Subscription | None = None
    _next_at: float = field(default=0.0)

    async def answer(self, context: RunnerContext, fun: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The events that wait, for `NEXT_EVENTS`; else what a runner returns. ControllerCallFailed when it fails."""
        if fun == NEXT_EVENTS:
            return await self._events(*args)
        if self.of_tree and fun in NOT_FOR_TREES:
            raise ControllerCallFailed(f"{fun} runs in the process of the engine")
        if fun == "event.send":
            await self._pace()
        bound = registry.bind("runner", fun, args, kwargs)
        return await bound.function(context, *bound.args, **bound.kwargs)

    async def _events(self, seconds: float) -> list[tuple[str, dict[str, Any]]]:
        if self._subscription is None:
            self._subscription = self.listen()
        with contextlib.suppress(TimeoutError):
            # wait_for of Python 3.11 loses a cancellation that comes together with an event.
            async with asyncio.timeout(max(0.0, min(float(seconds), _LONGEST_WAIT))):
                await self._subscription.wait()
        return [(event.tag, as_salt(event)) for event in self._subscription.drain()]

    async def _pace(self) -> None:
        """Have an engine that sends events faster than it may wait."""
        now = asyncio.get_running_loop().time()
        if self._next_at > now:
            self.on_wait()
            await asyncio.sleep(self._next_at - now)
        self._next_at = max(now - 1.0, self._next_at) + 1 / self.limits.events_per_second


async def _cancel(*tasks: asyncio.Future[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def _say_nothing(data: Mapping[str, Any], suffix: str = "progress") -> None:
    """An engine has no progress."""
