"""Native rules at work on the controller: what fires is handed to the reactor, and recorded before anything is done.

The state of debounce, throttle and the like follows from the recorded events `saltern/reaction/...`: those of a firing
name the rule and what it is about. A controller that starts reads them, so that a restart forgets nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

import structlog

from controller.observe.metrics import Metrics
from reactors.bus import Bus
from reactors.events import Event
from reactors.rules.native_rule import NativeRules
from reactors.rules.rule_engine import RuleEngine, RuleOutcome
from reactors.rules.rule_pace import RuleVerdict

log = structlog.get_logger("saltern.reactor")

WAITING = "saltern/reaction/waiting"
RESOLVED = "saltern/reaction/resolved"
RULE_STATE = ("saltern/reaction/%/new", WAITING, RESOLVED)
"""Tags of the events that the state of rules follows from; `%` stands for any characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleRecord:
    """What is kept of rules."""

    recent: Callable[[], Sequence[Event]]
    """The newest events with tags of `RULE_STATE`, oldest first. Called in a thread."""
    event: Callable[[int], Event | None]
    """One event by its id. Called in a thread."""
    keep: Callable[[], Awaitable[None]]
    """Has what was published kept on disk."""


@dataclass(slots=True, kw_only=True)
class RuleFirings:
    """Which rules fire. Times are seconds since the epoch."""

    bus: Bus
    record: RuleRecord
    metrics: Metrics
    clock: Callable[[], float]
    rules: Callable[[], NativeRules]
    fire: Callable[[RuleOutcome], Awaitable[None]]
    failed: Callable[[Event, Exception], None]
    """Says that an event was not answered."""
    _engine: RuleEngine = field(default_factory=RuleEngine)
    _changed: asyncio.Event = field(default_factory=asyncio.Event)

    def concerns(self, tag: str) -> bool:
        """Whether an event of this tag is for `answer`. Asked about every event of the bus."""
        rules = self.rules()
        return bool(rules.rules) and bool(rules.matching(tag) or rules.resolving(tag))

    async def answer(self, event: Event, done: frozenset[str] = frozenset()) -> None:
        """Fire what an event sets off, but for the rules that it has set off before (`done`)."""
        rules = self.rules()
        for name, about in self._engine.resolved(rules, event):
            self.bus.publish(RESOLVED, {"id": event.minion, "rule": name, "about": about}, cause=event.id)
        for outcome in self._engine.observe(rules, event, self.clock()):
            if outcome.rule.name not in done:
                await self._carry_out(outcome)

    async def wait(self) -> None:
        """Fire what was quiet for long enough, until cancelled."""
        while True:
            left = self._engine.due_at - self.clock()
            self._changed.clear()
            try:
                async with asyncio.timeout(None if left == float("inf") else max(0.0, left)):
                    await self._changed.wait()
            except TimeoutError:
                for outcome in self._engine.due(self.rules(), self.clock()):
                    await self._carried_out(outcome)

    def fired(self, outcome: RuleOutcome) -> None:
        """A rule fires now; said before its event is published."""
        self._engine.paces.fired(outcome.rule.name, outcome.about, self.clock())

    async def kept(self) -> None:
        """Have it on disk that a rule fires, before anything is done."""
        await self.record.keep()

    async def restore(self) -> None:
        """Read the state from what is recorded."""
        for event in await asyncio.to_thread(self.record.recent):
            name, about = str(event.data.get("rule", "")), str(event.data.get("about", ""))
            if event.tag == RESOLVED:
                self._engine.paces.resolved(name, about)
            elif event.tag == WAITING:
                found = await asyncio.to_thread(self.record.event, event.cause)
                if found is not None:
                    self._engine.wait(name, about, found, float(event.data.get("due", event.time)))
            elif name:
                self._engine.forget_waiting(name, about)
                self._engine.paces.fired(name, about, event.time)
        self._changed.set()

    async def _carried_out(self, outcome: RuleOutcome) -> None:
        try:
            await self._carry_out(outcome)
        except Exception as error:  # the border of one event, as of those that do not wait
            self.failed(outcome.event, error)

    async def _carry_out(self, outcome: RuleOutcome) -> None:
        if outcome.fires:
            await self.fire(outcome)
            return
        self.metrics.reaction_ended(outcome.verdict.value)
        if outcome.verdict is RuleVerdict.WAIT:
            data: dict[str, object] = {"id": outcome.event.minion, "rule": outcome.rule.name, "about": outcome.about}
            data["due"] = self.clock() + outcome.rule.pace.debounce
            self.bus.publish(WAITING, data, cause=outcome.event.id)
            self._changed.set()
        else:
            log.debug("rule did not fire", rule=outcome.rule.name, about=outcome.about, why=outcome.verdict.value)
