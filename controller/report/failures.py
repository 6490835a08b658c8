"""What has to be mended before a merge: broken rules, errors of the compile, failed test runs. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

from controller.report.blocks import (
    Bullets,
    CodeBlock,
    Heading,
    Paragraph,
    Piece,
    Quoted,
    ReportBlock,
    ReportLine,
)
from controller.report.lists import COUNTED, TOP, more
from controller.report.wording import counted, names, number
from controller.schema.reports import (
    LiveTest,
    MinionErrors,
    PreviewReport,
)

Failures: TypeAlias = Literal["whole", "first lines", "counted"]
"""How much is said of what must be mended."""
_EXCERPT = 200
"""Characters of the first line of an error."""


def failures(report: PreviewReport, how: Failures) -> list[ReportBlock]:
    """What must be mended: rules that are broken, errors of the compile."""
    return [*_violations(report, how), *_broken(report.broken, how)]


def _violations(report: PreviewReport, how: Failures) -> list[ReportBlock]:
    if not report.violations:
        return []
    most = len(report.violations) if how == "whole" else COUNTED
    lines: list[ReportLine] = []
    for each in report.violations[:most]:
        approve: tuple[Piece, ...] = (" (", Quoted("/saltern approve"), " takes it away)") if each.approvable else ()
        message = each.message if how == "whole" else each.message[:_EXCERPT]
        lines.append((Quoted(each.rule, 80), ": ", Quoted(message, 1000), *approve))
    heading = f"Against the policy: {counted(len(report.violations), 'rule')}"
    return [Heading((heading,)), Bullets((*lines, *more(len(report.violations) - most, "rule")))]


def _broken(broken: Sequence[MinionErrors], how: Failures) -> list[ReportBlock]:
    if not broken:
        return []
    count = sum(len(each.minions) for each in broken)
    blocks: list[ReportBlock] = [Heading((f"Does not compile: {counted(count, 'minion')}",))]
    if how == "whole":
        for each in broken:
            blocks += [errors_title(each, 2000), CodeBlock("\n\n".join(each.texts))]
        return blocks
    most = len(broken) if how == "first lines" else COUNTED
    lines = tuple((*errors_title(each, 60).line, " ", Quoted(_first(each), _EXCERPT)) for each in broken[:most])
    return [*blocks, Bullets((*lines, *more(len(broken) - most, "different error")))]


def errors_title(each: MinionErrors, most: int) -> Paragraph:
    """Which minions have an error."""
    return Paragraph((Quoted(names(each.folded, each.minions), most), f" ({counted(len(each.minions), 'minion')}):"))


def _first(each: MinionErrors) -> str:
    text = next((line for text in each.texts for line in text.splitlines() if line.strip()), "")
    more = len(each.texts) - 1
    return text[: _EXCERPT - 20] + (f" (+{more} more)" if more > 0 else "")


def failed_test_runs(report: PreviewReport) -> list[ReportBlock]:
    """What failed on the minions that were asked."""
    tests = [
        test for each in report.classes for test in each.tests if test.failed or test.outcome in ("failed", "error")
    ]
    if not tests:
        return []
    lines: list[ReportLine] = []
    for test in tests[:TOP]:
        lines.append((Quoted(test.minion, 100), f": {test.outcome} ", Quoted(test.summary or _failed_state(test), 300)))
    return [
        Heading((f"Failed test runs: {number(len(tests))}",)),
        Bullets((*lines, *more(len(tests) - TOP, "minion"))),
    ]


def _failed_state(test: LiveTest) -> str:
    for key, entry in test.states.items():
        if isinstance(entry, Mapping) and entry.get("result") is False:
            return f"{key.replace('_|-', ' ')}: {entry.get('comment', '')}"
    return f"{counted(test.failed, 'state')} would fail"
