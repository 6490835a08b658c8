"""Calls of runners and wheels: begun, told on the bus, kept in the history, waited for.

Called by the service (`saltern runner`), by reactions and by orchestrations. A call goes on when nobody waits for it
any more. Its events are Salt's (salt/client/mixins.py `low`): `salt/run/JID/new`, `/progress` and `/ret`, and
`salt/wheel/JID/…` of wheels; a function that there is not fires only `ret`.
"""

from __future__ import annotations

import asyncio
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import msgspec
import structlog

from controller.access.principals import OF_MINION
from controller.config.limits import RunnerLimits
from controller.jobs.job_returners import returners_of
from controller.observe.metrics import Metrics
from controller.observe.run_text import requested, typed_arguments, without_secrets
from controller.reconcile.jids import Jids
from controller.runners import registry
from controller.runners.context import RunnerContext, RunnerPorts
from controller.runners.errors import ControllerCallFailed, UnknownControllerFunction
from controller.runners.listener import Listener
from controller.runners.outcome import ControllerOutcome, failure_text, outcome_of
from controller.runners.registry import FunctionKind
from controller.schema.errors import ServiceError
from controller.store import RunRecord, StoreError
from options.limits import CountRefusal
from reactors.storable import storable

log = structlog.get_logger("saltern.runners")

_PREFIX: Mapping[FunctionKind, str] = {"runner": "run", "wheel": "wheel"}
RESUMES = "state.resume_orchestration"
"""The runner that goes on with an orchestration after a restart. Nobody else calls it."""
_WITHHELD = "the value is not kept: it may hold secrets"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerCall:
    """A call that somebody wants."""

    kind: FunctionKind
    fun: str
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    user: str = ""
    """Who asks; empty when nobody does."""
    cause: int = 0
    """Id of the event that it follows from."""
    jid: str = ""
    """Its id, where that was chosen before."""
    returners: str = ""
    """That get what it returns (`controller.jobs.job_returners`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRun:
    """A call that was begun."""

    jid: str
    call: ControllerCall
    event: int
    """Id of the event that says so."""
    ended: asyncio.Future[ControllerOutcome]


@dataclass(slots=True, kw_only=True)
class RunnerJobs:
    """Begins calls, and keeps what came of them."""

    ports: RunnerPorts
    ids: Jids
    metrics: Metrics
    limits: RunnerLimits
    keep_runs: int
    keep_bytes: int
    """Of the results of all calls."""
    on_refusal: CountRefusal
    running: dict[str, ControllerRun] = field(default_factory=dict)
    """Jid -> call that has not ended."""

    async def start(self, call: ControllerCall, listener: Listener | None = None) -> ControllerRun:
        """Begin a call. What is wrong with it is in its outcome.

        Args:
            call: what is called.
            listener: who is shown what it says meanwhile.
        """
        jid = call.jid or self.ids.next()
        call = replace(call, args=storable(call.args), kwargs=storable(call.kwargs))
        try:
            if len(self.running) >= self.limits.at_once:
                self.on_refusal("at-once")
                raise ControllerCallFailed(f"{self.limits.at_once} calls of runners go on already: try again later")
            if self._of_minion(call.user) >= self.limits.of_minion:
                self.on_refusal("of-minion")
                raise ControllerCallFailed(
                    f"{self.limits.of_minion} calls of this minion go on already: try again later"
                )
            bound = await self._bound(call)
        except ControllerCallFailed as error:
            return self._refused(jid, call, error)
        event = self._publish(jid, call, "new", {}, call.cause)
        self._record(jid, call)
        return self._begin(jid, call, bound, event, listener)

    def _of_minion(self, user: str) -> int:
        """Calls of a minion that go on; 0 for everybody else."""
        return sum(run.call.user == user for run in self.running.values()) if user.startswith(OF_MINION) else 0

    def _begin(
        self, jid: str, call: ControllerCall, bound: registry.BoundCall, event: int, listener: Listener | None
    ) -> ControllerRun:
        context = RunnerContext(
            ports=self.ports,
            jid=jid,
            user=call.user,
            cause=event,
            listener=listener or _nobody(),
            say=partial(self._say, jid, call, event, listener),
        )
        task = asyncio.create_task(self._run(jid, call, bound, context), name=f"{call.kind} {call.fun}")
        run = self.running[jid] = ControllerRun(jid=jid, call=call, event=event, ended=task)
        return run

    async def _bound(self, call: ControllerCall) -> registry.BoundCall:
        """The function; a runner of the tree stands before one of the controller's of that name, as in Salt."""
        if call.kind == "runner" and await self.ports.processes.has_runner(call.fun.partition(".")[0]):
            own = partial(_call_of_tree, call)
            return registry.BoundCall(own, (), {})
        return registry.bind(call.kind, call.fun, call.args, call.kwargs)

    async def close(self) -> None:
        """End what goes on, as the controller stops."""
        tasks = [run.ended for run in self.running.values()]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def end_lost(self) -> None:
        """Close the records of calls that a controller did not live to end."""
        kept = (
            {record.jid for record in self.ports.store.orchestrations.all()}
            if self.ports.orchestrations.resumes
            else ()
        )
        for run in self.ports.store.runs.open(""):
            if run.run_id not in kept:
                self.ports.store.orchestrations.end(run.run_id)
                self._finish(run.run_id, ControllerOutcome("the controller ended before this call did", False), 0.0)

    def resume(self) -> None:
        """Go on with the orchestrations that a controller did not live to end. Called on the loop, after `end_lost`."""
        for record in self.ports.store.orchestrations.all():
            call = ControllerCall(kind="runner", fun=record.fun, args=(record.sls,), user=record.user, jid=record.jid)
            event = self._publish(record.jid, call, "resumed", {}, 0)
            bound = registry.BoundCall(registry.find("runner", RESUMES), (), {})
            self._begin(record.jid, call, bound, event, None)

    async def _run(
        self, jid: str, call: ControllerCall, bound: registry.BoundCall, context: RunnerContext
    ) -> ControllerOutcome:
        began = self.ports.clock()
        outcome = ControllerOutcome("the controller stopped before this call had ended", False)
        goes_on = False
        try:
            outcome = outcome_of(await bound.function(context, *bound.args, **bound.kwargs))
        except (ControllerCallFailed, ServiceError) as error:
            outcome = ControllerOutcome(str(error), False)
        except asyncio.CancelledError:
            goes_on = self.ports.orchestrations.keeps(jid)
            raise
        except Exception as error:
            log.error("a call failed", kind=call.kind, fun=call.fun, jid=jid, exc_info=error)
            said = f"Exception occurred in {call.kind} {call.fun}: {type(error).__name__}: {error}"
            outcome = ControllerOutcome(said, False)
        finally:
            del self.running[jid]
            if not goes_on:
                self._end(jid, call, outcome, context.cause, self.ports.clock() - began)
        return outcome

    def _refused(self, jid: str, call: ControllerCall, error: ControllerCallFailed) -> ControllerRun:
        """A call that cannot be begun has ended."""
        outcome = ControllerOutcome(str(error), False)
        cause = call.cause
        if not isinstance(error, UnknownControllerFunction):
            cause = self._publish(jid, call, "new", {}, cause)
        self._record(jid, call)
        event = self._end(jid, call, outcome, cause, 0.0)
        ended: asyncio.Future[ControllerOutcome] = asyncio.get_running_loop().create_future()
        ended.set_result(outcome)
        return ControllerRun(jid=jid, call=call, event=event, ended=ended)

    def _record(self, jid: str, call: ControllerCall) -> None:
        typed = typed_arguments(call.fun, call.args, call.kwargs)
        now = self.ports.clock()
        self.ports.store.runs.create(
            RunRecord(
                run_id=jid,
                minion="",
                kind=call.kind,
                created=now,
                started=now,
                state="started",
                reason=requested(f"{call.kind} {call.fun} {typed}".rstrip(), call.user),
                user=call.user,
                fun=call.fun,
                args=typed,
                returners=call.returners,
            )
        )

    def _end(self, jid: str, call: ControllerCall, outcome: ControllerOutcome, cause: int, seconds: float) -> int:
        """Keep and tell what came of a call; the id of the event."""
        secret = outcome.success and registry.is_secret(call.kind, call.fun)
        kept = ControllerOutcome(_WITHHELD, True) if secret else self._bounded(outcome)
        try:
            self._finish(jid, kept, seconds)
            self.ports.store.runs.prune(self.keep_runs, "", self.keep_bytes)
        except StoreError as error:
            log.error("the result of a call is not kept", jid=jid, fun=call.fun, error=str(error))
        self.metrics.runs_ended(call.kind, [(_word(outcome), seconds, jid)])
        asked = {"ret": ",".join(returners_of(call.returners).names)} if call.returners else {}
        return self._publish(jid, call, "ret", {"return": kept.value, "success": kept.success, **asked}, cause)

    def _finish(self, jid: str, outcome: ControllerOutcome, seconds: float) -> None:
        error = "" if outcome.success else failure_text(outcome.value)
        self.ports.store.runs.finish(
            jid,
            _word(outcome),
            finished=self.ports.clock(),
            seconds=seconds,
            failed=0 if outcome.success else 1,
            summary=next(iter(error.strip().splitlines()), "")[:200],
            result={"states": {}, "value": outcome.value, "error": error if isinstance(outcome.value, str) else ""},
        )

    def _bounded(self, outcome: ControllerOutcome) -> ControllerOutcome:
        """The outcome as it is kept and published."""
        try:
            size = len(msgspec.msgpack.encode(outcome.value))
        except (TypeError, ValueError, OverflowError, RecursionError) as error:
            return ControllerOutcome(f"the value cannot be kept: {error}", outcome.success)
        if size <= self.limits.value_bytes:
            return outcome
        self.on_refusal("value-bytes")
        return ControllerOutcome(f"the value is not kept: it has {size} bytes", outcome.success)

    def _say(
        self,
        jid: str,
        call: ControllerCall,
        cause: int,
        listener: Listener | None,
        data: Mapping[str, Any],
        suffix: str = "progress",
    ) -> None:
        tag = f"salt/{_PREFIX[call.kind]}/{jid}/{suffix}"
        self.ports.bus.publish(tag, {**data, "_stamp": self._stamp()}, cause=cause)
        if listener is not None:
            listener.tell(data)

    def _publish(self, jid: str, call: ControllerCall, step: str, more: Mapping[str, Any], cause: int) -> int:
        args, kwargs = without_secrets(call.fun, call.args, call.kwargs)
        data = {
            "fun": f"{call.kind}.{call.fun}",
            "fun_args": [*args, *([kwargs] if kwargs else [])],
            "jid": jid,
            "user": call.user,
            "_stamp": self._stamp(),
            **more,
        }
        return self.ports.bus.publish(f"salt/{_PREFIX[call.kind]}/{jid}/{step}", data, cause=cause).id

    def _stamp(self) -> str:
        """The time as Salt's events have it."""
        return datetime.datetime.fromtimestamp(self.ports.clock(), datetime.UTC).isoformat()


async def _call_of_tree(call: ControllerCall, context: RunnerContext) -> Any:
    return await context.ports.processes.runner_of_tree(context, call.fun, call.args, call.kwargs)


def _word(outcome: ControllerOutcome) -> str:
    return "ok" if outcome.success else "failed"


def _nobody() -> Listener:
    """A listener that has gone."""
    listener = Listener()
    listener.leave()
    return listener
