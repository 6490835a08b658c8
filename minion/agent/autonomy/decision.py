"""The decision: whether a minion that reaches no controller puts drift right by itself, now or later. Pure.

`minion.agent.autonomy.remediation` asks at each turn of the agent's loop and carries it out. The rules are those by
which the controller decides (`controller.reconcile.deciding.decision`): within the windows, not while the minion is
paused, with the same pauses, and only towards what was applied last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from reactors.remediation import AutonomyRules, remediation_pause
from reactors.schedule import BadSchedule
from reactors.windows import Window, look
from wire.messages import APPLIES_NOW, NOT_APPLIED


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftReport:
    """What the newest drift check has found, while nothing was done about it."""

    run_id: str
    digest: str
    """Of the document that was checked."""
    keys: frozenset[str]
    """Of the states that differ; none after a remediation that failed."""
    touched: bool = False
    """Whether it looked at what somebody had just touched."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tries:
    """How often in a row something happened, and how many seconds ago the last time was."""

    count: int = 0
    age: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that the decision depends on, but for the wall clock."""

    rules: AutonomyRules | None
    """None: the controller has said that nothing is to be done, or has said nothing."""
    alone: float | None
    """Seconds for which no controller was reached; None while one is."""
    report: DriftReport | None
    held: str
    """Digest of the document that the minion holds."""
    applied: str
    """What its last run of a document has left: its digest, `NOT_APPLIED` or `APPLIES_NOW`; empty: nobody knows."""
    busy: bool = False
    """Whether states run, or wait to."""
    acting: frozenset[str] = frozenset()
    """States that have acted each time since the rules came, beside those that are in them."""
    failures: Tries = Tries()
    """Remediations of the document that is held, by the minion itself, that ended badly."""
    remediations: Tries = Tries()
    """Remediations by the minion itself after which the same kind of check has found drift again."""


@dataclass(frozen=True, slots=True)
class RemediateAlone:
    """Start a run of the whole highstate, but for these states."""

    report: DriftReport
    left_out: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wait:
    """Nothing to do now: the next look makes sense after so many seconds, or, with None, when something happens."""

    why: str = ""
    seconds: float | None = None


def decide(now: Situation, wall: float, counted: float | None) -> RemediateAlone | Wait:
    """What to do.

    Args:
        now: the situation, with whatever is a duration.
        wall: what the clock of the machine says, in seconds since the epoch; for windows alone.
        counted: what it would say had nobody set it (`known_time`); None: it says a time that is past.
    """
    rules, report = now.rules, now.report
    if now.alone is None or report is None:
        return Wait()
    if rules is None:
        return Wait("the policy, as far as it was told, does not have it remediated without a controller")
    if now.alone < rules.after:
        return Wait("a controller may come back soon", rules.after - now.alone)
    if now.busy:
        return Wait()
    if report.digest != now.held or not _was_applied(now, rules):
        return Wait("the document that is held was not the last one applied to its end")
    acting = now.acting | set(rules.acting)
    if report.keys <= acting and not now.failures.count:
        return Wait("only states that act each time differ")
    pause = _pause(now, rules, report)
    if pause is None:
        return Wait("the last remediation failed, and retry.limit is reached")
    if pause > 0:
        return Wait("the last remediation was a moment ago", pause)
    return within_windows(rules.windows, wall, counted) or RemediateAlone(report, acting)


def _was_applied(now: Situation, rules: AutonomyRules) -> bool:
    """Whether what is held is what was applied last. A push whose run failed is for the controller to go on with."""
    if now.applied in (NOT_APPLIED, APPLIES_NOW):
        return now.failures.count > 0
    return bool(now.held) and now.held in (now.applied, rules.applied)


def _pause(now: Situation, rules: AutonomyRules, report: DriftReport) -> float | None:
    """Seconds until the next remediation; None: there is none."""
    if now.failures.count:
        wait = rules.retry.wait(now.failures.count)
        return None if wait is None else max(0.0, wait - now.failures.age)
    pause = remediation_pause(now.remediations.count, touched=report.touched)
    return max(0.0, pause - now.remediations.age)


def within_windows(windows: Sequence[Window], wall: float, counted: float | None) -> Wait | None:
    """Why nothing may be changed now; None where it may, whichever of the two clocks is right (see `decide`)."""
    if not windows:
        return None
    if counted is None:
        return Wait("the clock of this machine says a time that is past, and there are windows")
    try:
        return _shut(windows, wall) or _shut(windows, counted)
    except BadSchedule as error:
        return Wait(f"a window cannot be followed here: {error}")


def _shut(windows: Sequence[Window], time: float) -> Wait | None:
    window = look(windows, time)
    if window.open:
        return None
    return Wait(window.why, None if window.changes_at is None else max(0.0, window.changes_at - time))
