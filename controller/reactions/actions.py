"""What reactions ask for, done: jobs on minions. Nobody waits for results; they come as events with their cause."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, get_args

import structlog

from controller.jobs.batch_events import BatchEvents
from controller.jobs.jobs import DEADLINE, REACTOR, Jobs
from controller.jobs.targets import Targets
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.targets import TargetExpression, TargetKind
from reactors.rules.reaction import ReactionCall

log = structlog.get_logger("saltern.reactor")

USER = REACTOR
"""Who asks for what reactions do, as in Salt."""
_KINDS = frozenset(get_args(TargetKind))

StartSync: TypeAlias = Callable[[Sequence[str], bool, int], Mapping[str, str]]
"""Has minions apply what is pending, or (True) their whole highstate; the last argument: id of the cause.

Minion -> its run; empty where nothing is to be done or it is not connected.
"""

Refresh: TypeAlias = Callable[[str | None, str], int]
"""Has a remote fetched, or all; arguments: its name, who asks. How many those are."""

Notify: TypeAlias = Callable[[ReactionCall, int], Awaitable[None]]
"""Has a message sent: it is on disk when this returns. Arguments: the call, id of the cause. Raises ServiceError."""

StartRunner: TypeAlias = Callable[[ReactionCall, int], Awaitable[str]]
"""Begins a runner or wheel; arguments: the call, id of the cause. The jid."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedAction:
    """What was done about one reaction."""

    id: str
    type: str
    fun: str
    tgt: Any = None
    jobs: Mapping[str, str] | None = None
    """Minion -> id of its run; of a runner, its own jid under an empty name."""
    unreachable: Sequence[str] = ()
    """Minions that are not connected."""
    error: str = ""

    def as_data(self) -> dict[str, Any]:
        """As an event has it."""
        data: dict[str, Any] = {"id": self.id, "type": self.type, "fun": self.fun}
        if self.tgt is not None:
            data["tgt"] = self.tgt
        jobs = self.jobs or {}
        data["jobs"] = dict(list(jobs.items())[:_SHOWN])
        if len(jobs) > _SHOWN:
            data["more_jobs"] = len(jobs) - _SHOWN
        if self.unreachable:
            data["unreachable"] = list(self.unreachable)[:_SHOWN]
        return data | ({"error": self.error} if self.error else {})


_SHOWN = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactionActions:
    """Does what reactions ask for."""

    targets: Targets
    jobs: Jobs
    start_runner: StartRunner
    sync: StartSync
    refresh: Refresh
    notify: Notify
    most_minions: int
    batches: set[asyncio.Task[None]] = field(default_factory=set)
    """Those that go on."""

    async def do(self, call: ReactionCall, cause: int) -> StartedAction:
        """Begin one reaction. `cause`: id of the event that says that it fired."""
        about: dict[str, Any] = {"id": call.id, "type": call.type, "fun": call.fun, "tgt": call.tgt}
        try:
            if call.type == "local":
                return await self._local(call, cause, about)
            if call.type == "reconcile" and call.fun == "refresh":
                return self._refresh(call, about)
            if call.type == "reconcile":
                return await self._sync(call, cause, about)
            if call.type == "notify":
                await self.notify(call, cause)
                return StartedAction(**about)
            if call.type in ("runner", "wheel"):
                return StartedAction(**about, jobs={"": await self.start_runner(call, cause)})
        except ServiceError as error:
            return StartedAction(**about, error=str(error))
        hint = "use a `local` reaction with the id of the minion on the controller's machine"
        return StartedAction(**about, error=f"a controller is no minion, and runs no functions of one itself: {hint}")

    async def close(self) -> None:
        """End what goes on in batches, as the controller stops."""
        tasks = list(self.batches)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _local(self, call: ReactionCall, cause: int, about: Mapping[str, Any]) -> StartedAction:
        target = _target_of(call)
        await self.jobs.returners.look((call.ret,))
        # Before a batch begins, which nobody waits for.
        self.jobs.returners.check((call.ret,), call.ret_config, call.ret_kwargs)
        minions = await self._minions(target, call.subset)
        question = CallQuestion(
            target=target,
            fun=call.fun,
            args=call.arg,
            kwargs=call.kwarg,
            limit=0.0,
            timeout=call.timeout,
            ret=(call.ret,),
            ret_config=call.ret_config,
            ret_kwargs=call.ret_kwargs,
        )
        if call.batch:
            task = asyncio.create_task(self._in_batches(minions, _size(call.batch, len(minions)), question, cause))
            self.batches.add(task)
            task.add_done_callback(self._batches_ended)
            return StartedAction(**about, jobs={})
        asked = self.jobs.start(minions, question, user=USER, cause=cause)
        self.jobs.forget(asked)
        jobs = {minion: run_id for minion, (run_id, future) in asked.items() if future is not None}
        return StartedAction(**about, jobs=jobs, unreachable=[minion for minion in asked if minion not in jobs])

    async def _sync(self, call: ReactionCall, cause: int, about: Mapping[str, Any]) -> StartedAction:
        minions = await self._minions(_target_of(call), 0)
        asked = self.sync(minions, call.kwarg.get("whole") is True, cause)
        jobs = {minion: run_id for minion, run_id in asked.items() if run_id}
        return StartedAction(**about, jobs=jobs, unreachable=[minion for minion in asked if minion not in jobs])

    def _refresh(self, call: ReactionCall, about: Mapping[str, Any]) -> StartedAction:
        remote = str(call.kwarg.get("remote") or "") or None
        if self.refresh(remote, USER):
            return StartedAction(**about)
        text = f"there is no remote {remote}: `saltern remote list` shows all" if remote else "there are no remotes"
        return StartedAction(**about, error=text)

    async def _minions(self, target: TargetExpression, subset: int) -> list[str]:
        """The minions of a target, or so many of them by chance. Raises ServiceError."""
        if self.targets.names_minions(target):
            minions = self.targets.select(target)
        else:
            minions = await asyncio.to_thread(self.targets.select, target, await self.targets.hosts(target))
        if subset:
            minions = sorted(random.sample(minions, min(subset, len(minions))))
        if len(minions) > self.most_minions:
            text = f"{len(minions)} minions match; the limit `minions` is {self.most_minions}"
            raise ServiceError("bad-request", text)
        return minions

    def _batches_ended(self, task: asyncio.Task[None]) -> None:
        self.batches.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("reaction: not all batches were begun", exc_info=error)

    async def _in_batches(self, minions: Sequence[str], size: int, question: CallQuestion, cause: int) -> None:
        """Have so many minions at a time call a function; the next begin when these have answered, or time is up."""
        jobs, job = self.jobs, self.jobs.ids.next()
        cause = jobs.opened.open(job, minions, question, USER, cause)
        jobs.opened.drive(job)
        told = BatchEvents(
            bus=jobs.bus,
            clock=jobs.clock,
            jid=job,
            question=question,
            user=USER,
            minions=minions,
            size=size,
            cause=cause,
        )
        told.new()
        try:
            for first in range(0, len(minions), size):
                group = minions[first : first + size]
                told.begin(group)
                asked = jobs.start(group, question, user=USER, cause=cause, job=job)
                async for minion, _, result in jobs.gather(asked, question.timeout or DEADLINE):
                    told.returned(minion, answered=result is not None)
            told.complete()
        finally:
            jobs.opened.leave(job)
            told.halted("stop")


def _target_of(call: ReactionCall) -> TargetExpression:
    """The minions that a reaction names. Raises ServiceError."""
    kind = "list" if isinstance(call.tgt, list | tuple) else str(call.tgt_type)
    if kind not in _KINDS:
        raise ServiceError("bad-request", f"tgt_type: there is no {kind!r}; there is {', '.join(sorted(_KINDS))}")
    expression = ",".join(map(str, call.tgt)) if isinstance(call.tgt, list | tuple) else str(call.tgt)
    return TargetExpression(kind=kind, expression=expression)  # type: ignore[arg-type]


def _size(batch: str, count: int) -> int:
    """Minions of a batch: a number, or a part in percent."""
    number = batch.strip().removesuffix("%")
    if not number.isdecimal() or int(number) == 0:
        raise ServiceError("bad-request", f"batch must be a number above 0 or a percentage, not {batch!r}")
    return max(1, count * int(number) // 100) if batch.strip().endswith("%") else int(number)
