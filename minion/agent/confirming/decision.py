"""The decision: whether a minion that reaches no controller goes back to what was confirmed last, now or later. Pure.

`minion.agent.confirming.going_back` asks at each turn of the agent's loop and carries it out. While a controller is
there, it decides (`controller.reconcile.deciding.confirming`).
"""

from __future__ import annotations

from dataclasses import dataclass

from minion.agent.autonomy.decision import Tries, Wait, within_windows
from reactors.confirmation import ConfirmRules

NO_TRIES = Tries()

GRACE = 10.0
"""Seconds for which no controller has let the minion in: one that is only started again decides itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnconfirmedSituation:
    """All that the decision depends on, but for the wall clock."""

    rules: ConfirmRules | None
    """None: the controller has said that nothing is to be confirmed, or has said nothing."""
    waiting: str
    """Digest of the document that nobody has confirmed, as far as the minion knows; empty: there is none."""
    left: float
    """Seconds until the time to confirm is over."""
    alone: float | None
    """Seconds for which no controller has let the minion in; None while one does."""
    running: bool = False
    """Whether the run goes on, or waits to, that somebody has to confirm."""
    busy: bool = False
    """Whether any states run, or wait to."""
    failures: Tries = NO_TRIES
    """Runs by which it tried to go back, and that ended badly."""


@dataclass(frozen=True, slots=True)
class GoBack:
    """Begin a run of the document that was confirmed last."""


@dataclass(frozen=True, slots=True)
class EndRun:
    """End the run that has not ended by itself for too long; what it leaves is gone back from."""


def decide(now: UnconfirmedSituation, wall: float, counted: float | None) -> GoBack | EndRun | Wait:
    """What to do.

    Args:
        now: the situation, with whatever is a duration.
        wall: what the clock of the machine says, in seconds since the epoch; for windows alone.
        counted: what it would say had nobody set it; None: it says a time that is past.
    """
    rules = now.rules
    if rules is None or now.waiting in ("", rules.confirmed) or now.alone is None:
        return Wait()
    if now.left > 0 or now.alone < GRACE:
        return Wait("there is time to confirm it", max(now.left, GRACE - now.alone))
    if rules.paused:
        return Wait("it is paused, or held")
    if now.running:
        return EndRun()
    if now.busy:
        return Wait()
    if now.failures.count:
        pause = rules.retry.wait(now.failures.count)
        if pause is None:
            return Wait("going back has failed, and retry.limit is reached")
        if now.failures.age < pause:
            return Wait("going back has failed", pause - now.failures.age)
    return within_windows(rules.windows, wall, counted) or GoBack()
