"""All replacements of agents: who asks for them, so many at a time, and those that an earlier controller has begun.

Called by the service. A replacement is a task of its own: whoever asked for it may leave, and it goes on; only no other
one is begun for him then.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import structlog
from msgspec import structs

from controller.jobs.batches import size_of
from controller.replacement.machine_steps import MachineStepFailed
from controller.replacement.replacement import (
    AgentReplacement,
    ReplacementPorts,
    awaited,
    kind_of,
    plan_of,
    refusal_of,
)
from controller.schema.errors import ServiceError
from controller.schema.fleet.replacements import ReplacementQuestion, ReplacementView
from controller.store.jobs.agent_replacements import ReplacementRecord
from options.limits import CountRefusal
from reactors.bus import Bus

log = structlog.get_logger("saltern.replacement")

_News = asyncio.Queue[ReplacementView | None]
_BEGUN = "a replacement of its agent goes on already"
_STOPPED = "one before it failed: nothing was done here"


@dataclass(slots=True)
class AgentReplacements:
    """Those that go on.

    Args:
        ports: see `ReplacementPorts`.
        bus: is told of each step.
        on_refusal: see `options.limits.CountRefusal`.
    """

    ports: ReplacementPorts
    bus: Bus
    on_refusal: CountRefusal
    _going: dict[str, asyncio.Task[ReplacementRecord]] = field(default_factory=dict)
    _drivers: set[asyncio.Task[None]] = field(default_factory=set)
    _slots: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._slots = asyncio.Semaphore(self.ports.limits.at_once)

    async def run(self) -> None:
        """Go on with what an earlier controller has begun; end with this one, and nothing is lost."""
        try:
            for record in self.ports.store.replacements.all():
                if not record.ended:
                    self._begin(record, lambda view: None)
            await asyncio.Event().wait()
        finally:
            tasks = [*self._drivers, *self._going.values()]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def views(self) -> list[ReplacementView]:
        """The newest of each minion, those that go on first."""
        found = sorted(self.ports.store.replacements.all(), key=lambda each: (each.ended, -each.changed))
        return [structs.replace(view_of(each), **self._waiting(each)) for each in found]

    def _waiting(self, record: ReplacementRecord) -> dict[str, str]:
        """What of one that goes on waits for an agent that is not there, as `why` and `hint`."""
        if record.ended:
            return {}
        service, key = awaited(record)
        session = self.ports.sessions.session(record.minion)
        if session is not None and session.key == key:
            return {}
        seconds, yet = self.ports.limits.come_seconds, " yet" if record.step in ("starting", "handed over") else ""
        hint = f"its log on the machine says why; start the service {service} there. It is waited for {seconds:g} s"
        return {"why": f"{service} is not connected{yet}", "hint": hint}

    async def replace(
        self, minions: Sequence[str], question: ReplacementQuestion, user: str
    ) -> AsyncIterator[ReplacementView]:
        """Replace the agents of these minions; each step as it comes.

        Raises:
            ServiceError: the size of a batch is none, or too many replacements go on.
        """
        size = min(size_of(question.batch, len(minions)), self.ports.limits.at_once)
        if len(self._drivers) >= self.ports.limits.at_once:
            self.on_refusal("at-once")
            raise ServiceError("too-many-requests", f"{len(self._drivers)} are asked for already")
        news: _News = asyncio.Queue()
        waiting = deque(minions)
        task = asyncio.create_task(self._drive(waiting, size, question, user, news), name="replacements")
        self._drivers.add(task)
        task.add_done_callback(self._drivers.discard)
        try:
            while (view := await news.get()) is not None:
                yield view
        finally:
            waiting.clear()

    async def _drive(
        self, waiting: deque[str], size: int, question: ReplacementQuestion, user: str, news: _News
    ) -> None:
        """Some at a time, until all are done or one has failed."""
        active: set[asyncio.Future[bool]] = set()
        good = True
        try:
            while active or (waiting and good):
                while waiting and good and len(active) < size:
                    one = self._one(waiting.popleft(), question, user, news.put_nowait)
                    active.add(asyncio.ensure_future(one))
                done, active = await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)
                good = good and all(each.result() for each in done)
            for minion in waiting:
                news.put_nowait(ReplacementView(minion=minion, to=question.to, step="not begun", why=_STOPPED))
        finally:
            news.put_nowait(None)

    async def _one(
        self, minion: str, question: ReplacementQuestion, user: str, tell: Callable[[ReplacementView], None]
    ) -> bool:
        """Replace one agent, or say what would be done; False where that failed. Nothing that it raises gets out."""
        try:
            async with self._slots:
                if self._has_it(minion, question):
                    why = f"its agent is that of {'Salt' if question.to == 'salt' else 'Saltern'} already"
                    tell(ReplacementView(minion=minion, to=question.to, step="done", why=why))
                    return True
                record = self._record_of(minion, question, user)
                if question.test:
                    tell(await self._planned(record, question))
                    return True
                self._check_address(question)
                ended = await asyncio.shield(self._begin(record, tell))
        except (MachineStepFailed, ServiceError) as error:
            tell(ReplacementView(minion=minion, to=question.to, step="refused", why=str(error), hint=error.hint))
            return True
        return ended.step == "done"

    def _begin(
        self, record: ReplacementRecord, tell: Callable[[ReplacementView], None]
    ) -> asyncio.Task[ReplacementRecord]:
        def told(at: ReplacementRecord, notes: tuple[str, ...]) -> None:
            data: dict[str, Any] = {"id": at.minion, "to": at.to, "user": at.user, "why": at.why}
            self.bus.publish(f"saltern/minion/{at.minion}/agent/{at.step.replace(' ', '-')}", data)
            log.info("replacement", minion=at.minion, to=at.to, step=at.step, user=at.user)
            tell(view_of(at, notes))

        self.ports.store.replacements.put(record)
        told(record, ())
        replacement = AgentReplacement(record=record, ports=self.ports, tell=told)
        task = asyncio.create_task(replacement.run(), name=f"replacement of {record.minion}")
        self._going[record.minion] = task
        task.add_done_callback(lambda _: self._going.pop(record.minion, None))
        return task

    def _record_of(self, minion: str, question: ReplacementQuestion, user: str) -> ReplacementRecord:
        """What is to be done for a minion. MachineStepFailed: it cannot be."""
        if minion in self._going:
            raise MachineStepFailed(_BEGUN, "saltern migrate status shows how far it is")
        if why := self.ports.refusal(minion):
            raise MachineStepFailed(why, "docs/gateway.md says how minions come out of it")
        known = self.ports.store.replacements.get(minion)
        session = self.ports.sessions.session(minion)
        now = self.ports.clock()
        if session is None:
            raise MachineStepFailed("the minion is not connected", "ask again when it is")
        if known is not None and kind_of(session) == question.to:
            # The new one answers; the old one could not be stopped, or its package shall go, too.
            return structs.replace(
                known, step="retiring", changed=now, user=user, why="", hint="", purge=question.purge
            )
        record = ReplacementRecord(
            minion=minion, to=question.to, step="installing", old_key=session.key, digest=session.held,
            purge=question.purge, controller=question.controller, began=now, changed=now, user=user,
        )  # fmt: skip
        if question.to == "saltern":
            return record
        salt_key = "" if known is None else known.old_key if known.to == "saltern" else known.new_key
        if not salt_key:
            raise MachineStepFailed("no salt-minion was replaced here", "install one, whose `master` is the gateway")
        return structs.replace(record, new_key=salt_key)

    def _has_it(self, minion: str, question: ReplacementQuestion) -> bool:
        """Whether this agent answers, and nothing of the other one is left that shall go."""
        session = self.ports.sessions.session(minion)
        if session is None or minion in self._going or kind_of(session) != question.to:
            return False
        known = self.ports.store.replacements.get(minion)
        if known is None or (known.to, known.new_key) != (question.to, session.key):
            return True
        return known.step != "failed" and (known.purge or not question.purge)

    async def _planned(self, record: ReplacementRecord, question: ReplacementQuestion) -> ReplacementView:
        """What would be done. MachineStepFailed."""
        report = await self.ports.steps.look(record.minion, record.user)
        if why := refusal_of(report, record.to):
            raise MachineStepFailed(*why)
        own = self.ports.own(question.controller) if record.to == "saltern" else {}
        plan = plan_of(report, record.to, own, purge=record.purge)
        return ReplacementView(minion=record.minion, to=record.to, step="planned", plan=plan, user=record.user)

    def _check_address(self, question: ReplacementQuestion) -> None:
        """ServiceError where the new agents would not know where this controller is."""
        if question.to == "saltern":
            self.ports.own(question.controller)


def view_of(record: ReplacementRecord, notes: tuple[str, ...] = ()) -> ReplacementView:
    """A replacement as people see it."""
    return ReplacementView(
        minion=record.minion,
        to=record.to,
        step=record.step,
        at=record.changed,
        why=record.why,
        hint=record.hint,
        notes=notes,
        user=record.user,
    )
