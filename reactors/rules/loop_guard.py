"""Reactors that set each other off: found by the chain of causes, and by rate where a chain passes through a machine.

A reaction's events name the event that was answered as their cause, so that the length of a chain is known. What a
reaction does on a machine may come back as an event without a cause (a beacon sees the file that was written): there
the rate of one rule for one minion tells. Time comes in as an argument.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from reactors.events import Event

_REMEMBERED = 50_000
"""Events whose chain is known."""
_RULES = 20_000
"""Pairs of a rule and a minion whose rate is known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopBounds:
    """When reactions count as a loop."""

    depth: int = 10
    """Reactions in one chain of causes."""
    firings: int = 60
    """Of one rule about one minion in a minute."""


@dataclass(slots=True)
class _Rate:
    started: float
    count: int = 0
    told: bool = False


@dataclass(slots=True)
class LoopGuard:
    """Knows the chains and rates of the last while."""

    bounds: LoopBounds = field(default_factory=LoopBounds)
    _chains: OrderedDict[int, tuple[str, ...]] = field(default_factory=OrderedDict)
    """Id of an event -> tags of the rules that led to it, oldest first."""
    _rates: OrderedDict[tuple[str, str], _Rate] = field(default_factory=OrderedDict)

    def follow(self, event: Event) -> tuple[str, ...]:
        """Tags of the rules whose reactions led to an event; called for every event that has a cause."""
        chain = self._chains.get(event.cause, ())
        if chain:
            self._remember(event.id, chain)
        return chain

    def reacted(self, event_id: int, chain: tuple[str, ...]) -> None:
        """An event says that a reaction has begun: what follows from it has this chain."""
        self._remember(event_id, chain)

    def refusal(self, rule: str, event: Event, chain: tuple[str, ...], now: float) -> str:
        """Why a rule does not answer an event; empty when it may. `now`: seconds."""
        if len(chain) >= self.bounds.depth:
            named = " -> ".join(dict.fromkeys((*chain, rule)))
            return f"reactions set each other off: {named} ({len(chain)} in one chain of causes)"
        rate = self._rates.get((rule, event.minion))
        if rate is None or now - rate.started >= 60.0:
            rate = self._rates[rule, event.minion] = _Rate(now)
            if len(self._rates) > _RULES:
                self._rates.popitem(last=False)
        rate.count += 1
        if rate.count > self.bounds.firings:
            return f"{rule} fired {self.bounds.firings} times in a minute" + (
                f" about {event.minion}" if event.minion else ""
            )
        return ""

    def is_news(self, rule: str, event: Event) -> bool:
        """Whether a refusal of a rule has not been told in this minute."""
        rate = self._rates.get((rule, event.minion))
        if rate is None:
            return True
        told, rate.told = rate.told, True
        return not told

    def _remember(self, event_id: int, chain: tuple[str, ...]) -> None:
        self._chains[event_id] = chain
        if len(self._chains) > _REMEMBERED:
            self._chains.popitem(last=False)
