"""What became of a change: after its merge, or before it where somebody applied it. Pure; shown by `comment`."""

from __future__ import annotations

import time
from collections.abc import Sequence

from controller.report.blocks import Bullets, Heading, Paragraph, Piece, Quoted, ReportBlock, ReportLine, Table
from controller.report.lists import TOP, more
from controller.report.wording import counted, number
from controller.schema.reports import ApplyOutcome, ClassOutcome, MergeOutcome, PreviewReport


def outcome(report: PreviewReport, merged: MergeOutcome) -> list[ReportBlock]:
    """What happened after the merge, a class a row, then every minion that did something else."""
    heading = "After the merge" if merged.complete else "After the merge, so far"
    return [Heading((heading, " of ", Quoted(merged.commit[:8]))), *_table(report, merged.classes)]


def applied(report: PreviewReport, outcome: ApplyOutcome, *, commands: bool) -> list[ReportBlock]:
    """What was applied before the merge, and what became of it; `commands`: whether people can take it back by one."""
    where = f"on {counted(outcome.minions, 'minion')}" + (" (canary)" if outcome.canary else "")
    line: list[Piece] = [Quoted(outcome.head[:8]), f" {where}, asked for by ", Quoted(outcome.user, 100)]
    if outcome.released:
        line += [": ", Quoted(outcome.released, 200), "."]
        return [Heading(("Applied before the merge, and released",)), Paragraph(tuple(line))]
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(outcome.until))
    line += [f"; held until {until}."]
    line += [" ", Quoted("/saltern unapply"), " takes it back."] if commands else []
    table = _table(report, outcome.classes) if outcome.classes else []
    return [Heading(("Applied before the merge",)), Paragraph(tuple(line)), *table]


def _table(report: PreviewReport, classes: Sequence[ClassOutcome]) -> list[ReportBlock]:
    places = {each.id: place for place, each in enumerate(report.classes, 1)}
    rows: list[tuple[ReportLine, ...]] = []
    odd: list[ReportLine] = []
    for each in classes:
        counts_of = (each.applied, each.differs, each.failed, each.waiting)
        rows.append(((str(places.get(each.id, "?")),), *((number(len(some)),) for some in counts_of)))
        odd += [(Quoted(minion, 100), ": failed: ", Quoted(text, 300)) for minion, text in each.failed.items()]
        odd += [(Quoted(minion, 100), ": differs: ", Quoted(text, 300)) for minion, text in each.differs.items()]
        odd += [(Quoted(minion, 100), ": merged together: ", Quoted(text, 300)) for minion, text in each.others.items()]
    table = Table(("change", "as previewed", "otherwise", "failed", "waiting"), tuple(rows[:20]))
    return [table, *([Bullets((*odd[:TOP], *more(len(odd) - TOP, "minion")))] if odd else [])]
