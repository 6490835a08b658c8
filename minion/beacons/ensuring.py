"""A condition that is healed until it holds again: when to try, when to say that it does not help. Pure.

held --bad--> trying --bad, after the back-off--> trying ... --after `tries`--> escalated, still tried
trying or escalated --good--> held
"""

from __future__ import annotations

from enum import Enum

from minion.beacons.configured import Ensure

LONGEST_BACKOFF = 3600.0
"""Seconds."""


class Step(Enum):
    """What is to be done and said."""

    HEAL = "healing"
    ESCALATE = "escalated"
    RESOLVE = "resolved"


class Ensuring:
    """One condition. Times are seconds of one clock that never goes back."""

    def __init__(self, ensure: Ensure) -> None:
        self._ensure = ensure
        self.tries = 0
        """Since the condition went bad."""
        self._since = 0.0
        self._next = float("inf")
        self._escalated = False

    def observe(self, now: float, *, bad: bool) -> list[Step]:
        """The condition was looked at."""
        if not bad:
            resolved = [Step.RESOLVE] if self.tries else []
            self.tries, self._escalated, self._next = 0, False, float("inf")
            return resolved
        if not self.tries:
            self._since, self._next = now, now
        if now < self._next:
            return []
        steps = []
        if self.tries >= self._ensure.tries and not self._escalated:
            self._escalated = True
            steps.append(Step.ESCALATE)
        self._next = now + min(self._ensure.backoff * 2**self.tries, LONGEST_BACKOFF)
        self.tries += 1
        return [*steps, Step.HEAL]

    def seconds(self, now: float) -> float:
        """How long the condition is bad."""
        return now - self._since
