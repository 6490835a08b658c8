"""The folds beside the changes: services, timing, abilities, orphans, drift, warnings, and what was compared. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime

from controller.report.blocks import (
    Bullets,
    CodeBlock,
    Fold,
    Paragraph,
    Piece,
    Quoted,
    ReportBlock,
    ReportLine,
    Strong,
    Table,
)
from controller.report.diffs import state_lines
from controller.report.failures import errors_title
from controller.report.lists import quoted
from controller.report.wording import counted, names, number
from controller.schema.reports import (
    MinionErrors,
    PreviewReport,
)
from highstate.types import state_title


def forecast(report: PreviewReport) -> list[ReportBlock]:
    """Services that restart, and where."""
    if not report.restarts:
        return []
    rows = []
    for each in report.restarts:
        sure = each.action if each.certain else f"{each.action} (may)"
        groups = tuple(quoted(each.whole_groups, 5))
        rows.append(((Quoted(each.service, 80),), (sure,), (number(len(each.minions)),),
                     (Quoted(names(each.folded, each.minions), 100),), groups))  # fmt: skip
    return [Fold((Strong(f"Forecast of services: {number(len(rows))}"),),
                 (Table(("service", "what", "minions", "", "whole groups"), tuple(rows)),))]  # fmt: skip


def timing(report: PreviewReport) -> list[ReportBlock]:
    """When the change is applied, with the minions that this concerns."""
    lines: list[ReportLine] = []
    for each in report.timing:
        on: tuple[Piece, ...] = (" on ", Quoted(names(each.folded, each.minions), 300)) if each.minions else ()
        lines.append((f"{each.kind}: ", Quoted(each.text, 300), *on))
    return [Fold((Strong("When it is applied"),), (Bullets(tuple(lines)),))] if lines else []


def orphans(report: PreviewReport) -> list[ReportBlock]:
    """States that are not managed any more."""
    lines: list[ReportLine] = []
    for each in report.classes:
        on: tuple[Piece, ...] = (" on ", Quoted(names(each.folded, each.minions), 100))
        for change in each.resources:
            if change.action == "removed":
                where: tuple[Piece, ...] = (" · ", Quoted(change.origin)) if change.origin else ()
                lines.append((Quoted(change.title, 200), *on, *where))
    modes = {one.prune for each in report.classes for one in each.resources if one.action == "removed"}
    kept = "" if "on" in modes else ", left on the machines"
    heading = f"Not managed any more{kept}: {counted(len(lines), 'state')}"
    return [Fold((Strong(heading),), (Bullets(tuple(lines)),))] if lines else []


def drift(report: PreviewReport) -> list[ReportBlock]:
    """What differs on the asked minions for other reasons."""
    tests = [test for each in report.classes for test in each.tests if test.drift]
    blocks: list[ReportBlock] = []
    for test in tests:
        blocks += [Paragraph((Quoted(test.minion, 100),)), CodeBlock("\n".join(state_lines(test.drift)), "diff")]
    on = counted(len(tests), "asked minion")
    return [Fold((Strong("Existing drift"), f" on {on}, not caused by this change"), tuple(blocks))] if tests else []


def missed(report: PreviewReport) -> list[ReportBlock]:
    """What the check after the push would find on the asked minions, and have applied."""
    tests = [test for each in report.classes for test in each.tests if test.missed]
    blocks: list[ReportBlock] = []
    for test in tests:
        certain = {key: entry for key, entry in test.missed.items() if not entry.get("uncertain")}
        blocks.append(Paragraph((Quoted(test.minion, 100),)))
        if certain:
            blocks.append(CodeBlock("\n".join(state_lines(certain)), "diff"))
        if others := [state_title(key) for key in test.missed if key not in certain]:
            said = f"Not known, and may be put right, too: {counted(len(others), 'state')}: "
            blocks.append(Paragraph((said, Quoted(", ".join(others), 400))))
    on = counted(len(tests), "asked minion")
    heading = (Strong("Put right by the check after the push"), f" on {on}, in a run of its own (verify: apply)")
    return [Fold(heading, tuple(blocks))] if tests else []


def errors_fold(heading: str, found: Sequence[MinionErrors]) -> list[ReportBlock]:
    """Warnings, or what is not to be had: answers of functions, Python that is not run."""
    blocks: list[ReportBlock] = []
    for each in found:
        blocks += [errors_title(each, 500), CodeBlock("\n".join(each.texts))]
    count = sum(len(each.minions) for each in found)
    return [Fold((Strong(heading), f": {counted(count, 'minion')}"), tuple(blocks))] if found else []


def unknown(report: PreviewReport) -> list[ReportBlock]:
    """Minions whose answers the head needs, and nobody had; and those whose states Python makes that is not run."""
    return errors_fold("Not known, because answers are missing or Python of the tree is not run", report.unknown)


def warned(report: PreviewReport) -> list[ReportBlock]:
    """Warnings that the base does not have; of what is pending all."""
    return errors_fold("Warnings" if report.kind == "pending" else "New warnings", report.warned)


def capabilities(report: PreviewReport) -> list[ReportBlock]:
    """What the change newly lets the trees do."""
    lines: list[ReportLine] = []
    for each in report.capabilities:
        where: tuple[Piece, ...] = (" · ", Quoted(each.origin)) if each.origin else ()
        lines.append((f"{each.kind}: ", Quoted(each.text, 300), *where))
    return (
        [Fold((Strong(f"New abilities of the trees: {number(len(lines))}"),), (Bullets(tuple(lines)),))]
        if lines
        else []
    )


def notes(report: PreviewReport) -> list[ReportBlock]:
    """What is no drift, and differs all the same."""
    lines: list[ReportLine] = [
        (Quoted(text, 300), ": ", Quoted(names(each.folded, each.minions), 300))
        for each in report.notes
        for text in each.texts
    ]
    return [Fold((Strong("Besides"),), (Bullets(tuple(lines)),))] if lines else []


def compared(report: PreviewReport) -> list[ReportBlock]:
    """Commits, remotes, time; of what is pending each minion has its own."""
    if report.kind == "pending":
        return []
    how = ", merged into the base" if report.merged else ", as it is" if report.kind == "preview" else ""
    lines: list[ReportLine] = [("base ", Quoted(report.base)), ("head ", Quoted(report.head), how)]
    if report.answers_at:
        as_of = datetime.fromtimestamp(report.answers_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
        lines.append((f"machines were not all asked: answers of theirs are as of {as_of} or newer",))
    for moved in report.moved:
        commits = f"{moved.base or 'nothing'}..{moved.head}"
        lines.append(
            (Quoted(f"{moved.remote} {commits}"), ": ", Quoted(moved.subject, 200), " by ", Quoted(moved.author))
        )
    return [Fold((Strong("What was compared"),), (Bullets(tuple(lines)),))]


def details(report: PreviewReport) -> Iterable[tuple[str, list[ReportBlock]]]:
    """Name -> the folds beside the classes, the most important first."""
    yield "unknown", unknown(report)
    yield "forecast", forecast(report)
    yield "timing", timing(report)
    yield "capabilities", capabilities(report)
    yield "orphans", orphans(report)
    yield "drift", drift(report)
    yield "missed", missed(report)
    yield "notes", notes(report)
    yield "warned", warned(report)
