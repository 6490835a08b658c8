"""When native rules fire: throttle, debounce, rate limit, once until resolved, escalation and quiet hours. Pure.

State is kept for each rule and what it is about (`by`), and follows from the firings alone, so that it can be made
again from what is recorded of them. Times are seconds since the epoch and come in as arguments.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from dataclasses import dataclass, field
from datetime import datetime, time
from enum import Enum
from zoneinfo import ZoneInfo

MOST_KEYS = 20_000
"""Pairs of a rule and what it is about whose state is known; of more, those that fired longest ago are forgotten."""


class RuleVerdict(Enum):
    """What becomes of an event that a rule matches."""

    FIRE = "fire"
    ESCALATE = "escalate"
    WAIT = "waiting"
    OPEN = "not-resolved"
    THROTTLED = "throttled"
    LIMITED = "rate-limited"
    QUIET = "quiet-hours"


@dataclass(frozen=True, slots=True, kw_only=True)
class QuietHours:
    """A part of the day in which nothing is done."""

    start: time
    end: time
    zone: str = ""
    """A name as `Europe/Berlin`; empty: that of this machine."""

    def covers(self, now: float) -> bool:
        """Whether a time lies in it; the end does not."""
        at = datetime.fromtimestamp(now, ZoneInfo(self.zone) if self.zone else None).time()
        if self.start <= self.end:
            return self.start <= at < self.end
        return at >= self.start or at < self.end


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often a rule may fire. Seconds."""

    throttle: float = 0.0
    """After a firing, until the next."""
    debounce: float = 0.0
    """For which there must be no further event before it fires, for the newest."""
    rate_count: int = 0
    """Firings in `rate_seconds`; 0: any number."""
    rate_seconds: float = 0.0
    once: bool = False
    """Whether it fires once until it is resolved."""
    escalate_after: int = 0
    """Firings in `escalate_seconds` after which another action is taken; 0: never."""
    escalate_seconds: float = 3600.0
    quiet: QuietHours | None = None


@dataclass(slots=True)
class _Known:
    fired: deque[float] = field(default_factory=lambda: deque(maxlen=1000))
    unresolved: bool = False


@dataclass(slots=True)
class RulePaces:
    """What is known of all rules."""

    _known: OrderedDict[tuple[str, str], _Known] = field(default_factory=OrderedDict)

    def verdict(self, rule: str, about: str, pace: Pace, now: float, *, waited: bool = False) -> RuleVerdict:
        """What becomes of an event. `waited`: its debounce is over."""
        known = self._known.get((rule, about)) or _Known()
        if pace.once and known.unresolved:
            return RuleVerdict.OPEN
        if pace.throttle and known.fired and now - known.fired[-1] < pace.throttle:
            return RuleVerdict.THROTTLED
        if pace.rate_count and _since(known.fired, now - pace.rate_seconds) >= pace.rate_count:
            return RuleVerdict.LIMITED
        if pace.debounce and not waited:
            return RuleVerdict.WAIT
        escalates = pace.escalate_after and _since(known.fired, now - pace.escalate_seconds) >= pace.escalate_after
        if pace.quiet is not None and not escalates and pace.quiet.covers(now):
            return RuleVerdict.QUIET
        return RuleVerdict.ESCALATE if escalates else RuleVerdict.FIRE

    def fired(self, rule: str, about: str, at: float) -> None:
        """It has fired."""
        known = self._known.setdefault((rule, about), _Known())
        self._known.move_to_end((rule, about))
        known.fired.append(at)
        known.unresolved = True
        if len(self._known) > MOST_KEYS:
            self._known.popitem(last=False)

    def resolved(self, rule: str, about: str) -> bool:
        """What it fired for is over; whether it had fired. The firings no longer count."""
        known = self._known.get((rule, about))
        if known is None or not known.unresolved:
            return False
        known.unresolved = False
        known.fired.clear()
        return True


def _since(fired: deque[float], start: float) -> int:
    return sum(at > start for at in fired)
