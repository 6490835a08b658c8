"""Counts and short sentences of a report, the same for every output. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from controller.schema.reports import ChangeClass, PreviewReport

SIGNS = {"added": "+", "changed": "~", "removed": "-", "retriggered": "↻"}


EVERYONE = "*"
"""How all minions are folded."""


def number(count: int) -> str:
    """`1,204`."""
    return f"{count:,}"


def counted(count: int, noun: str, plural: str = "") -> str:
    """`1 minion`, `1,204 minions`."""
    return f"{count:,} {noun if count == 1 else plural or noun + 's'}"


def signs(classes: Iterable[ChangeClass]) -> str:
    """`+2 ~1 ↻3`: states by what happens to them, each counted once a class."""
    counts = dict.fromkeys(SIGNS, 0)
    for each in classes:
        for resource in each.resources:
            counts[resource.action] += 1
    return " ".join(f"{SIGNS[action]}{number(count)}" for action, count in counts.items() if count)


def headline(report: PreviewReport) -> str:
    """What the change does to the fleet, in one sentence."""
    if not report.changed and not report.classes:
        if report.kind == "pending":
            if has_nothing_to_do(report):
                every = "the minion has" if report.minions == 1 else f"all {number(report.minions)} minions have"
                return f"Nothing to do: {every} revision {report.head[:8]}"
            return f"Nothing is pending on {counted(report.minions, 'minion')}"
        if report.broken or report.unknown:
            return f"Nothing is known to change on {counted(report.minions, 'minion')}"
        return f"Nothing changes on {counted(report.minions, 'minion')}"
    changes = counted(len(report.classes), "distinct change")
    return f"{changes} on {number(report.changed)} of {counted(report.minions, 'minion')}"


def has_nothing_to_do(report: PreviewReport) -> bool:
    """Whether all that was asked about have what is live, as far as is known."""
    told = report.classes or report.changed or report.broken or report.unknown or report.drift
    return report.kind == "pending" and report.minions > 0 and not told


def counts(report: PreviewReport) -> list[str]:
    """What follows the headline."""
    found = [f"{number(report.unchanged)} unchanged" if report.unchanged else ""]
    found.append(_on(report.broken_minions, "does not compile", "do not compile"))
    found.append(_on(report.unknown_minions, "not known", "not known"))
    found.append(f"{number(failed_tests(report))} failed the test run" if failed_tests(report) else "")
    restarting = len({minion for each in report.restarts if each.action == "restart" for minion in each.minions})
    found.append(f"services restart on {counted(restarting, 'minion')}" if restarting else "")
    drifted = sum(len(each.minions) for each in report.drift)
    found.append(f"{number(drifted)} drifted" if drifted else "")
    return [each for each in found if each]


def _on(count: int, one: str, more: str) -> str:
    return f"{number(count)} {one if count == 1 else more}" if count else ""


def failed_tests(report: PreviewReport) -> int:
    """Minions on which the test run of the change failed."""
    return sum(test.failed > 0 or test.outcome in ("failed", "error") for each in report.classes for test in each.tests)


def names(folded: str, minions: Sequence[str]) -> str:
    """The minions for people."""
    if folded == EVERYONE:
        return "all minions"
    return folded or ", ".join(minions)
