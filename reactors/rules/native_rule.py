"""The option `rules`: events answered by typed calls, with a condition and a pace, without a template.

    rules:
    - name: restart-nginx
      tag: 'salt/beacon/*/service/nginx'
      when: not data.nginx.running
      throttle: 5m
      escalate: {after: 3, within: 1h, do: [{runner.http.query: {args: ['https://pager.example.org/nginx']}}]}
      do:
      - local.service.restart: {tgt: '{{ minion }}', args: [nginx]}

Read from the controller's file and from `saltern.yaml`; what is badly formed is a fault with file and line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from functools import cached_property
from typing import Any
from zoneinfo import ZoneInfo

from matching.limits import PatternLimits
from matching.linear_regex import PatternRefused, TextRefused, compile_linear
from options.document import Fault, Inside, Option
from options.durations import parse_seconds
from options.near_names import did_you_mean
from reactors.events import Event
from reactors.rules.condition import BadCondition, Condition, EventValues, read_condition
from reactors.rules.rule_action import RuleAction, read_actions
from reactors.rules.rule_pace import Pace, QuietHours
from reactors.rules.tag_index import TagIndex

MOST_RULES = 5000
_PATTERNS = PatternLimits()
_NAME = re.compile(r"[\w.:-]{1,100}", re.ASCII)
_KEYS = (
    "name", "tag", "regex", "when", "by", "throttle", "debounce", "rate_limit", "once_until_resolved", "escalate",
    "quiet_hours", "do",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMatch:
    """Which events are meant."""

    tag: str
    """A glob; `*` crosses slashes."""
    regex: str = ""
    """Instead of the glob: found anywhere in the tag."""
    when: Condition | None = None

    def has_tag(self, tag: str) -> bool:
        """Whether an event of this tag may be meant, where the tag is told by an expression."""
        try:
            return bool(self.regex) and compile_linear(self.regex, _PATTERNS).search(tag)
        except TextRefused:
            return False

    def holds(self, event: EventValues) -> bool:
        """Whether the condition is true for an event of a tag that matches."""
        return self.when is None or self.when.holds(event)


@dataclass(frozen=True, slots=True, kw_only=True)
class NativeRule:
    """One rule."""

    name: str
    match: EventMatch
    do: tuple[RuleAction, ...]
    by: Condition
    """What its pace is kept for; the minion that an event is about, unless it is told."""
    pace: Pace = field(default_factory=Pace)
    resolved: EventMatch | None = None
    escalated: tuple[RuleAction, ...] = ()
    place: str = ""

    @property
    def paced(self) -> bool:
        """Whether what it does next depends on when it fired."""
        return self.pace != Pace()

    def about(self, event: EventValues) -> str:
        """What the pace is kept for."""
        value = self.by.value(event)
        return "" if value is None else str(value)[:256]


@dataclass(frozen=True)
class NativeRules:
    """All rules, in the order in which they were written."""

    rules: tuple[NativeRule, ...] = ()

    @cached_property
    def _firing(self) -> _Index:
        return _Index([rule.match for rule in self.rules])

    @cached_property
    def _resolving(self) -> _Index:
        return _Index([rule.resolved for rule in self.rules])

    def matching(self, tag: str) -> tuple[NativeRule, ...]:
        """Rules that an event of this tag may set off."""
        return tuple(self.rules[position] for position in self._firing.matching(tag))

    def resolving(self, tag: str) -> tuple[NativeRule, ...]:
        """Rules that an event of this tag may resolve."""
        return tuple(self.rules[position] for position in self._resolving.matching(tag))

    def named(self, name: str) -> NativeRule | None:
        """The rule of this name."""
        return next((rule for rule in self.rules if rule.name == name), None)


class _Index:
    """Which of many matches a tag may belong to."""

    def __init__(self, matches: list[EventMatch | None] | list[EventMatch]) -> None:
        given = [(position, match) for position, match in enumerate(matches) if match is not None]
        self._globs = [position for position, match in given if not match.regex]
        self._index = TagIndex([match.tag for _, match in given if not match.regex])
        self._regexes = [(position, match) for position, match in given if match.regex]

    def matching(self, tag: str) -> list[int]:
        found = [self._globs[number] for number in self._index.matching(tag)]
        return sorted([*found, *(position for position, match in self._regexes if match.has_tag(tag))])


def values_of(event: Event, stamp: str = "") -> EventValues:
    """What rules see of an event. `stamp`: its time, as templates of reactors get it."""
    return EventValues(event.tag, {"_stamp": stamp, **event.data} if stamp else event.data, event.minion)


def read_rules(option: Option | None, faults: list[Fault]) -> NativeRules:
    """The rules that an option holds; what is wrong with it is appended to the faults."""
    if option is None or option.value in (None, [], {}):
        return NativeRules()
    if not isinstance(option.value, list | tuple) or len(option.value) > MOST_RULES:
        faults.append(
            Fault(option.place, f"rules must be a list of at most {MOST_RULES} rules", "see docs/reactors.md")
        )
        return NativeRules()
    found: dict[str, NativeRule] = {}
    for number, given in enumerate(option.value):
        before = len(faults)
        rule = _Reading(option, number, given, faults).rule()
        if rule.name in found and len(faults) == before:
            faults.append(Fault(rule.place, f"rules: there are two rules {rule.name!r}", "give each a name of its own"))
        found[rule.name] = rule
    return NativeRules(tuple(found.values()))


class _Reading:
    """One rule while it is read."""

    def __init__(self, option: Option, number: int, given: Any, faults: list[Fault]) -> None:
        self._option, self._inside, self._faults = option, (number,), faults
        self._given: Mapping[str, Any] = given if isinstance(given, Mapping) else {}
        if not isinstance(given, Mapping):
            self._wrong((), "a rule must be a mapping with name, tag and do")

    def rule(self) -> NativeRule:
        given = self._given
        for key in given:
            if key not in _KEYS:
                self._wrong((str(key),), f"there is no {key!r}", did_you_mean(str(key), _KEYS) or ", ".join(_KEYS))
        name = given.get("name")
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            self._wrong(("name",), "name must be letters, digits, _, -, . and :, at most 100")
        escalate = self._mapping("escalate", ("after", "within", "do"))
        return NativeRule(
            name=str(name),
            match=self._match(given, ()),
            do=read_actions(self._option, (*self._inside, "do"), given.get("do"), self._faults),
            by=self._condition(given.get("by", "minion"), ("by",)) or read_condition("minion"),
            pace=self._pace(escalate),
            resolved=self._resolved(),
            escalated=read_actions(self._option, (*self._inside, "escalate", "do"), escalate.get("do"), self._faults)
            if escalate
            else (),
            place=self._option.at(self._inside),
        )

    def _match(self, given: Mapping[str, Any], inside: Inside) -> EventMatch:
        tag, regex = given.get("tag"), given.get("regex")
        if (tag is None) == (regex is None) or not isinstance(tag if regex is None else regex, str):
            self._wrong(inside, "write `tag`, a glob, or `regex`, an expression that is found in the tag")
        if isinstance(regex, str):
            try:
                compile_linear(regex, _PATTERNS)
            except (re.error, PatternRefused) as error:
                self._wrong((*inside, "regex"), str(error))
                regex = "^$"
        when = self._condition(given["when"], (*inside, "when")) if "when" in given else None
        return EventMatch(tag=str(tag or ""), regex=str(regex or ""), when=when)

    def _resolved(self) -> EventMatch | None:
        given = self._mapping("once_until_resolved", ("tag", "regex", "when"))
        if not given:
            return None
        if "tag" not in given and "regex" not in given:
            given = {**given, **{key: self._given[key] for key in ("tag", "regex") if key in self._given}}
        return self._match(given, ("once_until_resolved",))

    def _pace(self, escalate: Mapping[str, Any]) -> Pace:
        count, seconds = self._rate()
        after = escalate.get("after", 0)
        if escalate and (not isinstance(after, int) or isinstance(after, bool) or not 1 <= after <= 1000):
            self._wrong(("escalate",), "after must be a number of firings, 1 to 1000")
            after = 0
        return Pace(
            throttle=self._seconds(self._given.get("throttle", 0), ("throttle",)),
            debounce=self._seconds(self._given.get("debounce", 0), ("debounce",)),
            rate_count=count,
            rate_seconds=seconds,
            once="once_until_resolved" in self._given,
            escalate_after=after,
            escalate_seconds=self._seconds(escalate.get("within", "1h"), ("escalate", "within")),
            quiet=self._quiet(),
        )

    def _rate(self) -> tuple[int, float]:
        given = self._given.get("rate_limit")
        if given is None:
            return 0, 0.0
        count, _, seconds = str(given).partition("/")
        if not count.strip().isdecimal() or not 1 <= int(count) <= 1000 or not seconds:
            self._wrong(("rate_limit",), f"rate_limit must be a number and a time, as 10/1h, not {given!r}")
            return 0, 0.0
        return int(count), self._seconds(seconds.strip(), ("rate_limit",))

    def _quiet(self) -> QuietHours | None:
        given = self._mapping("quiet_hours", ("from", "to", "timezone"))
        if not given:
            return None
        zone = str(given.get("timezone") or "")
        try:
            if zone:
                ZoneInfo(zone)
            start, end = (time.fromisoformat(_clock(given.get(key))) for key in ("from", "to"))
        except (ValueError, OSError, KeyError):
            self._wrong(("quiet_hours",), "write {from: '22:00', to: '06:00', timezone: Europe/Berlin}")
            return None
        return QuietHours(start=start, end=end, zone=zone)

    def _mapping(self, key: str, known: tuple[str, ...]) -> Mapping[str, Any]:
        given = self._given.get(key)
        if given is None:
            return {}
        if not isinstance(given, Mapping) or not given:
            self._wrong((key,), f"{key} must be a mapping with {', '.join(known)}")
            return {}
        for name in given:
            if name not in known:
                self._wrong(
                    (key, str(name)), f"{key} has no {name!r}", did_you_mean(str(name), known) or ", ".join(known)
                )
        return given

    def _seconds(self, given: Any, inside: Inside) -> float:
        try:
            return parse_seconds(given)
        except ValueError as error:
            self._wrong(inside, str(error))
            return 0.0

    def _condition(self, given: Any, inside: Inside) -> Condition | None:
        try:
            return read_condition(given if isinstance(given, str) else str(given).lower())
        except BadCondition as error:
            self._wrong(inside, str(error), "the language is in docs/reactors.md")
            return None

    def _wrong(self, inside: Inside, message: str, hint: str = "") -> None:
        about = self._given.get("name")
        named = f"rules: {about}: " if isinstance(about, str) else "rules: "
        self._faults.append(Fault(self._option.at((*self._inside, *inside)), named + message, hint))


def _clock(given: Any) -> str:
    """A time of day; YAML reads 22:00 as a number of minutes."""
    return (
        f"{given // 60:02d}:{given % 60:02d}" if isinstance(given, int) and not isinstance(given, bool) else str(given)
    )
