"""Plans and acts for `highstate.run`, in the thread of a run: steps on the controller's loop, `test.*` in memory."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import CancelledError
from dataclasses import dataclass, field
from typing import Any, TypeVar

from controller.orchestration.steps import on_controller, on_minions
from controller.orchestration.steps.step import StepContext, StepFailed, StepFunction, StepOutcome
from controller.runners.errors import ControllerCallFailed
from controller.schema.errors import ServiceError
from highstate.files import MemoryFiles
from highstate.run.ports import Executor, Prepared
from highstate.types import Chunk, StateResult, Value
from minion.arguments import BadValues, spec_of
from minion.machine.machine import LocalMachine
from minion.machine.read_only import ReadOnly
from options.near_names import did_you_mean

FUNCTIONS: Mapping[str, StepFunction] = {**on_minions.FUNCTIONS, **on_controller.FUNCTIONS}
_T = TypeVar("_T")
_LOOK = 0.5
"""Seconds between two looks whether the controller stops."""
# fmt: off
_OF_RUN = frozenset(
    (
        "require", "require_any", "require_in", "watch", "watch_any", "watch_in", "onchanges", "onchanges_any",
        "onchanges_in", "onfail", "onfail_any", "onfail_all", "onfail_in", "prereq", "prereq_in", "listen", "listen_in",
        "use", "use_in", "order", "retry", "parallel", "aggregate", "fire_event", "names", "reload_modules",
        "reload_grains", "reload_pillar", "no_log",
    )
)
# fmt: on
"""Arguments that the run has acted on."""
_CONDITIONS = ("unless", "onlyif", "creates", "check_cmd")
_ELSEWHERE = "run it on the minion of that machine: salt.state with an SLS, or salt.function with state.single"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Step:
    """A step whose arguments are right."""

    key: str
    name: str
    function: StepFunction
    arguments: Mapping[str, Any]


@dataclass(slots=True, kw_only=True)
class StepExecutor:
    """`highstate.run.ports.Executor` of one orchestration."""

    loop: asyncio.AbstractEventLoop
    context_of: Callable[[str, bool], StepContext]
    """Key of a chunk, and whether it only says what it would do -> what its step gets. Called on the loop."""
    test: bool
    gate: Callable[[str], str]
    """Waits while a step (its id) is paused; why it is not to be done, or nothing."""
    stopping: threading.Event
    """Set when the controller stops."""
    jids: dict[str, str] = field(default_factory=dict)
    """Key -> job of a step."""
    engine: Executor = field(init=False)

    def __post_init__(self) -> None:
        from minion.engine.engine import StateEngine  # with Jinja: not in the memory of a controller that needs none

        self.engine = StateEngine(ReadOnly(LocalMachine(sources_port=MemoryFiles({}))), test=self.test)

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """See `Executor`. There is no mod_watch of steps, as in Salt."""
        if chunk.state == "test":
            return self.engine.plan(chunk, arguments, watched=watched)
        if watched:
            return None
        if why := self.gate(chunk.id):
            return Prepared(chunk=chunk, predicted=StateResult(name=chunk.name, result=False, comment=why))
        try:
            step = _step(chunk, arguments)
        except (BadValues, StepFailed) as error:
            return Prepared(chunk=chunk, predicted=StateResult(name=chunk.name, result=False, comment=str(error)))
        would = StateResult(name=chunk.name, result=None, comment="")
        return Prepared(chunk=chunk, predicted=would, work=step, predict=lambda: self._done(chunk, step, test=True))

    def act(self, prepared: Prepared) -> StateResult:
        """See `Executor`."""
        if isinstance(prepared.work, _Step):
            return self._done(prepared.chunk, prepared.work, test=False)
        return self.engine.act(prepared)

    def on_loop(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do this on the controller's loop, and wait."""
        future = asyncio.run_coroutine_threadsafe(work, self.loop)
        while True:
            try:
                return future.result(_LOOK)
            except TimeoutError:
                if future.done():
                    raise
            if self.stopping.is_set():  # a loop that has ended answers nobody
                future.cancel()
                raise CancelledError

    def _done(self, chunk: Chunk, step: _Step, *, test: bool) -> StateResult:
        try:
            outcome = self.on_loop(self._run(step, test))
        except (StepFailed, ControllerCallFailed, ServiceError) as error:
            return StateResult(name=chunk.name, result=False, comment=str(error))
        except (CancelledError, asyncio.CancelledError):
            self.stopping.set()
            return StateResult(name=chunk.name, result=False, comment="the controller stopped")
        if outcome.jid:
            self.jids[step.key] = outcome.jid
        return StateResult(
            name=chunk.name,
            result=outcome.result,
            comment=outcome.comment,
            changes=outcome.changes,
            warnings=outcome.warnings,
        )

    async def _run(self, step: _Step, test: bool) -> StepOutcome:
        context = self.context_of(step.key, test)
        found: StepOutcome = await step.function(context, step.name, **step.arguments)
        return found


def _step(chunk: Chunk, arguments: Mapping[str, Value]) -> _Step:
    """The step of a chunk; StepFailed or BadValues for what is none."""
    full = f"{chunk.state}.{chunk.fun}"
    if chunk.state != "salt":
        raise StepFailed(f"{full} would be run on the controller's machine, which no tree may change; {_ELSEWHERE}")
    if chunk.fun not in FUNCTIONS:
        known = [f"salt.{name}" for name in FUNCTIONS]
        hint = did_you_mean(full, known)
        raise StepFailed(f"there is no {full}; {hint + '; ' if hint else ''}there are {', '.join(known)}")
    for name in _CONDITIONS:
        if arguments.get(name):
            raise StepFailed(f"{name} of {full} would be asked of the controller's machine; use a requisite on a step")
    function = FUNCTIONS[chunk.fun]
    given = {name: one for name, one in arguments.items() if name not in _OF_RUN and not name.startswith("__")}
    if chunk.fun not in ("state", "function"):
        given.pop("failhard", None)
    spec = spec_of(function, 2)
    _, keywords = spec.bind(full, (), given)
    missing = [name for name in spec.required if name not in keywords]
    unknown = [] if spec.takes_anything else [name for name in keywords if name not in spec.parameters]
    if missing:
        raise StepFailed(f"{full}: missing {' and '.join(missing)}")
    if unknown:
        raise StepFailed(f"{full}: there is no argument {' or '.join(unknown)}")
    return _Step(key=chunk.tag, name=chunk.name, function=function, arguments=spec.grouped(keywords))
