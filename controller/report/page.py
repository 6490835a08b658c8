"""The order of a whole report, the same for Markdown, HTML and the terminal. Pure."""

from __future__ import annotations

from controller.report import changes, details, failures, outcomes, summary
from controller.report.blocks import ReportBlock
from controller.schema.reports import MergeOutcome, PreviewReport

CONTEXT = 3
"""Lines around each change of a file."""
_ROWS = 20
"""Of the table of classes."""


def whole_report(report: PreviewReport, merged: MergeOutcome | None = None) -> list[ReportBlock]:
    """Everything that the report has."""
    blocks: list[ReportBlock] = [summary.title(report), *summary.summary(report), *summary.alerts(report)]
    blocks += outcomes.outcome(report, merged) if merged is not None else []
    blocks += summary.class_table(report, _ROWS)
    blocks += [*failures.failures(report, "whole"), *failures.failed_test_runs(report)]
    blocks += [changes.class_fold(place, each, CONTEXT) for place, each in enumerate(report.classes, 1)]
    blocks += changes.drifted(report)
    for _, part in details.details(report):
        blocks += part
    return [*blocks, *details.compared(report)]
