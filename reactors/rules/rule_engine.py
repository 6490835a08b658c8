"""Native rules and the events: what fires now, what waits for quiet, what is resolved. Pure; time comes in.

Used by the controller's reactor, and by a replay of recorded events, which acts on nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from reactors.events import Event
from reactors.rules.native_rule import NativeRule, NativeRules, values_of
from reactors.rules.reaction import ReactionCall
from reactors.rules.rule_action import BadValue
from reactors.rules.rule_pace import RulePaces, RuleVerdict

MOST_WAITING = 10_000
"""Rules that wait until an event has not come again for their debounce; of more, the oldest fire at once."""

LATEST = 86400.0
"""Seconds after an event until which a rule that waits for quiet is looked for where it is not known."""
LOOKED_FOR_AGAIN = 2.0
"""Seconds between two looks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleOutcome:
    """What became of an event that a rule matches."""

    rule: NativeRule
    about: str
    verdict: RuleVerdict
    event: Event

    @property
    def fires(self) -> bool:
        """Whether something is done."""
        return self.verdict in (RuleVerdict.FIRE, RuleVerdict.ESCALATE)

    def calls(self, stamp: str = "") -> tuple[tuple[ReactionCall, ...], tuple[str, ...]]:
        """What is to be done, and what cannot be. `stamp`: the time of the event as text."""
        values = values_of(self.event, stamp)
        calls, errors = [], []
        actions = self.rule.escalated if self.verdict is RuleVerdict.ESCALATE else self.rule.do
        for action in actions:
            try:
                calls.append(action.call(self.rule.name, values))
            except (BadValue, ValueError, TypeError, OverflowError) as error:
                errors.append(f"{action.place}: {action.type}.{action.fun}: {error}")
        return tuple(calls), tuple(errors)


@dataclass(slots=True)
class _Waiting:
    event: Event
    due: float


@dataclass(slots=True)
class RuleEngine:
    """The state of all rules."""

    paces: RulePaces = field(default_factory=RulePaces)
    _waiting: dict[tuple[str, str], _Waiting] = field(default_factory=dict)

    def observe(self, rules: NativeRules, event: Event, now: float) -> list[RuleOutcome]:
        """What an event sets off. A debounce that begins is among it once, as WAIT."""
        values, found = values_of(event), []
        for rule in rules.matching(event.tag):
            if not rule.match.holds(values):
                continue
            about = rule.about(values)
            verdict = self.paces.verdict(rule.name, about, rule.pace, now)
            if verdict is RuleVerdict.WAIT:
                first = (rule.name, about) not in self._waiting
                self.wait(rule.name, about, event, now + rule.pace.debounce)
                if not first:
                    continue
            found.append(RuleOutcome(rule=rule, about=about, verdict=verdict, event=event))
        return found

    def resolved(self, rules: NativeRules, event: Event) -> list[tuple[str, str]]:
        """Rules that an event resolves, each with what it is about."""
        values, found = values_of(event), []
        for rule in rules.resolving(event.tag):
            if rule.resolved is not None and rule.resolved.holds(values):
                about = rule.about(values)
                self._waiting.pop((rule.name, about), None)
                if self.paces.resolved(rule.name, about):
                    found.append((rule.name, about))
        return found

    def wait(self, rule: str, about: str, event: Event, due: float) -> None:
        """Fire for this event then, unless another comes before."""
        self._waiting[rule, about] = _Waiting(event, due)
        if len(self._waiting) > MOST_WAITING:
            next(iter(self._waiting.values())).due = 0.0

    def forget_waiting(self, rule: str, about: str) -> None:
        """It has fired."""
        self._waiting.pop((rule, about), None)

    @property
    def due_at(self) -> float:
        """When the next debounce is over; infinity when none waits."""
        return min((one.due for one in self._waiting.values()), default=float("inf"))

    def due(self, rules: NativeRules, now: float) -> list[RuleOutcome]:
        """What fires because it was quiet for long enough."""
        found = []
        for key in [key for key, one in self._waiting.items() if one.due <= now]:
            event = self._waiting.pop(key).event
            rule = rules.named(key[0])
            if rule is None and now - event.time < LATEST:  # the tree that has it is not live yet
                self.wait(*key, event, now + LOOKED_FOR_AGAIN)
            elif rule is not None:
                verdict = self.paces.verdict(key[0], key[1], rule.pace, now, waited=True)
                found.append(RuleOutcome(rule=rule, about=key[1], verdict=verdict, event=event))
        return found
