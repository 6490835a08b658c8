"""Reactors at work: events of the bus are matched, their SLS rendered, and what they ask for is done.

One event after the other, in the order of the bus, so that the reactions about one minion keep their order. Each firing
leaves a trace of events, every one with its cause:

    the event -> saltern/reaction/ID/new -> what jobs and runners say, and saltern/reaction/ID/ret

Events that say what a reactor does are never answered themselves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import structlog

from controller.config.limits import ReactorLimits
from controller.observe.metrics import Metrics
from controller.reactions.actions import ReactionActions, StartedAction
from controller.reactions.durable_events import SLS_FIRED, DurableEvents
from controller.reactions.messages import ReactorRequest, RenderedReactions
from controller.reactions.reactor_files import ReactorFiles, find_files
from controller.reactions.reactor_process import ReactorProcess
from controller.reactions.rules import RuleFirings, RuleRecord
from controller.reconcile.jids import Jids
from controller.reconcile.live import LiveRevision
from controller.store import StoreError
from highstate.compile_options import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Files, Pos, Problem, Stage
from reactors.bus import Bus, QueueBounds, Subscription
from reactors.events import Event
from reactors.rules.loop_guard import LoopGuard
from reactors.rules.native_rule import NativeRules
from reactors.rules.reaction import Parameters
from reactors.rules.reactor_changes import ReactorChanges
from reactors.rules.reactor_map import ReactorEntry, ReactorMap, sls_of
from reactors.rules.rule_engine import RuleOutcome
from reactors.rules.rule_pace import RuleVerdict
from reactors.tags import as_salt, stamp_of

log = structlog.get_logger("saltern.reactor")

OWN_TAGS = "saltern/reaction/"
_LIMITS = {"stream-events": "waiting-events", "stream-bytes": "waiting-bytes"}
"""What the bus calls the limits of a subscription -> what they are called here."""
_NO_TREE = MemoryFiles({"base": {}})
_NO_REACTORS = ReactorMap()
_MOST_TEXTS = 20
"""Errors and warnings of a firing in its event."""
_MOST_CHARACTERS = 2000
"""Of each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorSettings:
    """What is configured, and what templates see of the controller's machine."""

    reactors: ReactorChanges
    """Which answer."""
    rules: NativeRules
    """Of the controller's file, too."""
    language: CompileOptions
    limits: ReactorLimits
    grains: Callable[[], Mapping[str, Any]]
    parameters: Callable[[], Mapping[tuple[str, str], Parameters]]


@dataclass(slots=True, kw_only=True)
class Reactor:
    """Answers the events of a bus."""

    settings: ReactorSettings
    bus: Bus
    live: LiveRevision
    process: ReactorProcess
    actions: ReactionActions
    guard: LoopGuard
    ids: Jids
    metrics: Metrics
    clock: Callable[[], float]
    record: RuleRecord
    durable: DurableEvents
    _one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    _rules_of_tree: NativeRules = field(default_factory=NativeRules)
    _all_rules: NativeRules | None = None
    _firings: RuleFirings = field(init=False)
    _subscription: Subscription | None = None

    def __post_init__(self) -> None:
        self._firings = RuleFirings(
            bus=self.bus,
            record=self.record,
            metrics=self.metrics,
            clock=self.clock,
            rules=self._rules,
            fire=self._fire,
            failed=self._failed,
        )

    def _reactors(self) -> ReactorMap:
        """Those of the controller's file, then those of the live tree, which change with it, as they were changed."""
        changes = self.settings.reactors
        return changes.of(self.live.policy.reactor) if changes.leads else _NO_REACTORS

    def _rules(self) -> NativeRules:
        """Native rules, as `_reactors`; of two with one name that of the controller's file counts."""
        of_tree = self.live.policy.rules
        if self._all_rules is None or of_tree is not self._rules_of_tree:
            self._rules_of_tree = of_tree
            own = {rule.name: rule for rule in self.settings.rules.rules}
            others = {rule.name: rule for rule in of_tree.rules if rule.name not in own}
            self._all_rules = NativeRules((*own.values(), *others.values()))
        return self._all_rules

    async def run(self) -> None:
        """Answer events until cancelled."""
        limits = self.settings.limits
        with self.bus.subscribe_to(
            self._is_answered,
            bounds=QueueBounds(events=limits.waiting_events, size=limits.waiting_bytes),
            on_refusal=self._shed,
        ) as subscription:
            self._subscription = subscription
            try:
                await self._firings.restore()
            except StoreError as error:
                log.error("the state of rules is not known; they begin anew", error=str(error))
            beside = [
                asyncio.create_task(self._firings.wait(), name="rules"),
                asyncio.create_task(self.durable.answer_all(self._answer_durable), name="durable events"),
            ]
            try:
                await self._answer_all(subscription)
            finally:
                for task in beside:
                    task.cancel()
                await asyncio.gather(*beside, return_exceptions=True)

    def waiting(self) -> int:
        """How many events wait for their reactions."""
        return self._subscription.waiting() if self._subscription is not None else 0

    async def _answer_all(self, subscription: Subscription) -> None:
        dropped = 0
        async for event in subscription:
            if subscription.dropped > dropped:
                data = {"dropped": subscription.dropped - dropped, "since": event.time}
                self.bus.publish(f"{OWN_TAGS}shed", data)
                log.warning("events dropped that reactors would have answered", dropped=data["dropped"])
                dropped = subscription.dropped
            await self._answer_one(event)

    async def _answer_durable(self, event: Event, done: frozenset[str]) -> None:
        """Answer an event from the store; `done`: what has fired before the controller was started again."""
        if self._concerns(event):
            await self._answer_one(event, done)

    async def _answer_one(self, event: Event, done: frozenset[str] = frozenset()) -> None:
        try:
            async with self._one_at_a_time:
                await self._answer(event, done)
        except Exception as error:  # the border of one event: a full disk or a broken tree ends no other reaction
            self._failed(event, error)

    def _failed(self, event: Event, error: Exception) -> None:
        """Say that an event was not answered, or not wholly."""
        self.metrics.reaction_ended("failed")
        log.error("reactor: an event was not answered", tag=event.tag, exc_info=error)
        data = {"id": event.minion, "event": event.id, "tag": event.tag, "error": f"{type(error).__name__}: {error}"}
        self.bus.publish(f"{OWN_TAGS}error", data, cause=event.id)

    def _shed(self, limit: str) -> None:
        self.metrics.limit_refused("reactor", _LIMITS.get(limit, limit))

    def _is_answered(self, event: Event) -> bool:
        """Asked about every event of the bus."""
        self.guard.follow(event)
        if event.durable or not self.durable.begun:
            self.durable.look(trees=self.live.trees is not None)
        return not event.durable and self._concerns(event)

    def _concerns(self, event: Event) -> bool:
        if event.tag.startswith(OWN_TAGS):
            return False
        return bool(self._reactors().matching(event.tag)) or self._firings.concerns(event.tag)

    async def _answer(self, event: Event, done: frozenset[str]) -> None:
        await self._firings.answer(event, done)
        entries = self._allowed(event, self._reactors().matching(event.tag))
        if not entries or SLS_FIRED in done:
            return
        began = self.clock()
        firing = self.ids.next()
        sls = sls_of(entries)
        about = {"id": event.minion, "event": event.id, "tag": event.tag, "sls": list(sls)}
        new = self.bus.publish(f"{OWN_TAGS}{firing}/new", about, cause=event.id, revision=self.live.digest)
        rules = tuple(entry.tag for entry in entries)
        self.guard.reacted(new.id, (*self.guard.follow(event), *rules))
        found: list[ReactorFiles] = []
        rendered = await self.process.render(partial(self._request, event, sls, found))
        if event.durable:
            await self._firings.kept()
        acted = [await self.actions.do(call, new.id) for call in rendered.reactions]
        problems = (*(problem for each in found for problem in each.problems), *rendered.problems)
        self._tell(firing, new, event, about, acted, replace_problems(rendered, problems), self.clock() - began)

    async def _fire(self, outcome: RuleOutcome) -> None:
        """Do what a native rule asks for."""
        event, rule, began = outcome.event, outcome.rule, self.clock()
        named = f"rule {rule.name}"
        if not self._may_fire(named, rule.place, event):
            return
        firing = self.ids.next()
        about: dict[str, Any] = {"id": event.minion, "event": event.id, "tag": event.tag, "sls": []}
        about |= {"rule": rule.name, "about": outcome.about, "escalated": outcome.verdict is RuleVerdict.ESCALATE}
        self._firings.fired(outcome)
        new = self.bus.publish(f"{OWN_TAGS}{firing}/new", about, cause=event.id, revision=self.live.digest)
        self.guard.reacted(new.id, (*self.guard.follow(event), named))
        if rule.paced or event.durable:
            await self._firings.kept()
        calls, errors = outcome.calls(stamp_of(event))
        done = [await self.actions.do(call, new.id) for call in calls]
        problems = tuple(Problem(message=error, pos=Pos(file=rule.place, stage=Stage.RENDER)) for error in errors)
        self._tell(firing, new, event, about, done, RenderedReactions(problems=problems), self.clock() - began)

    def _request(self, event: Event, sls: Sequence[str], found: list[ReactorFiles]) -> ReactorRequest:
        """What the process has to render; looks for files, and so is made in a thread."""
        files: Files = self.live.trees.files if self.live.trees is not None else _NO_TREE
        found.append(find_files(sls, files))
        return ReactorRequest(
            tree=found[0].tree,
            files=found[0].files,
            tag=event.tag,
            data=as_salt(event),
            language=self.settings.language,
            grains=self.settings.grains(),
            parameters=self.settings.parameters(),
        )

    def _allowed(self, event: Event, entries: Sequence[ReactorEntry]) -> list[ReactorEntry]:
        """Those entries that may answer; the others are said to be a loop."""
        return [entry for entry in entries if self._may_fire(entry.tag, entry.place, event)]

    def _may_fire(self, rule: str, place: str, event: Event) -> bool:
        refusal = self.guard.refusal(rule, event, self.guard.follow(event), self.clock())
        if not refusal:
            return True
        self.metrics.reaction_ended("loop")
        if self.guard.is_news(rule, event):
            data = {"id": event.minion, "tag": event.tag, "rule": rule, "place": place, "error": refusal}
            self.bus.publish(f"{OWN_TAGS}loop", data, cause=event.id)
            log.error("reactor stopped: it answers what it causes", rule=rule, place=place, why=refusal)
        return False

    def _tell(
        self,
        firing: str,
        new: Event,
        event: Event,
        about: Mapping[str, Any],
        done: Sequence[StartedAction],
        rendered: RenderedReactions,
        seconds: float,
    ) -> None:
        """Publish what came of a firing."""
        errors = [str(each)[:_MOST_CHARACTERS] for each in rendered.problems]
        errors += [f"{each.id}: {each.error}" for each in done if each.error]
        outcome = "failed" if errors else "ok"
        data = {
            **about,
            "outcome": outcome,
            "reactions": [each.as_data() for each in done],
            "errors": errors[:_MOST_TEXTS],
            "warnings": [str(each)[:_MOST_CHARACTERS] for each in rendered.warnings][:_MOST_TEXTS],
            "seconds": round(seconds, 6),
        }
        self.bus.publish(f"{OWN_TAGS}{firing}/ret", data, cause=new.id)
        self.metrics.reaction_ended(outcome)
        if errors:
            log.warning("reaction failed", reaction=firing, tag=event.tag, errors=errors[:3])


def replace_problems(rendered: RenderedReactions, problems: Sequence[Any]) -> RenderedReactions:
    """The same with other problems."""
    return RenderedReactions(reactions=rendered.reactions, problems=tuple(problems), warnings=rendered.warnings)
