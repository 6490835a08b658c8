"""The distinct changes: minions, values that differ, each state with its differences, test runs. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

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
from controller.report.diffs import count_changes, field_lines, state_lines, with_context
from controller.report.lists import COUNTED, TOP, quoted
from controller.report.wording import EVERYONE, SIGNS, counted, names, number, signs
from controller.schema.reports import (
    ChangeClass,
    Hole,
    LiveTest,
    PreviewReport,
    ResourceChange,
)
from highstate.pruned import no_longer_managed
from highstate.types import state_title

_STATES = Paragraph((Strong("States"),))
_AS_SALT_FORETELLS = (
    "Of stock minions this is as Salt's test=True foretells it: it looks at the machine as it is now, so what a state "
    "does after an earlier one has acted is not foretold, nor what the check after the push finds."
)
_CONTEXT = 3
"""Lines around each change of a file."""
NAMES_ONLY = -1
"""In place of the lines around a change: no difference at all."""


def class_title(place: int, each: ChangeClass, noun: str = "Change") -> ReportLine:
    """Of the fold of a class."""
    count, what = len(each.minions), Quoted(signs([each]))
    if each.folded == EVERYONE:
        return (Strong(f"{noun} {place}"), f" on all {counted(count, 'minion')} ", what)
    of = Quoted(names(each.folded, each.minions), 80)
    return (Strong(f"{noun} {place}"), f" on {counted(count, 'minion')}: ", of, " ", what)


def class_head(each: ChangeClass) -> list[ReportBlock]:
    """What is said of a class before its resources."""
    blocks: list[ReportBlock] = []
    if each.folded != EVERYONE:
        blocks.append(Paragraph(("Minions: ", Quoted(names(each.folded, each.minions), 2000))))
    if each.note:
        blocks.append(Paragraph((Quoted(each.note, 300),)))
    if each.holes:
        rows = []
        for hole in each.holes[:20]:
            rows.append(((Quoted(hole.name, 80),), (_examples(hole),)))
        blocks.append(Table(("differs by minion", "examples"), tuple(rows)))
    if tests := [test for test in each.tests if test.outcome != "unreachable"]:
        lines = tuple((*_tested_on(test), f": {test.outcome} ", Quoted(test.summary, 200)) for test in tests[:TOP])
        blocks += [Paragraph((f"Asked by test=True: {counted(len(tests), 'minion')}",)), Bullets(lines)]
        blocks += [*_not_foretold([test for test in tests if test.agent]), _STATES]
    return blocks


def _tested_on(test: LiveTest) -> ReportLine:
    """A minion that was asked; of a stock minion with its agent."""
    return (Quoted(test.minion, 100), *((" (", Quoted(test.agent, 100), ")") if test.agent else ()))


def _not_foretold(tests: Sequence[LiveTest]) -> Iterator[ReportBlock]:
    """Of stock minions: what their word is worth, and which states it says little of."""
    if not tests:
        return
    yield Paragraph((_AS_SALT_FORETELLS,))
    for test in tests[:TOP]:
        if unsure := [state_title(key) for key, entry in test.states.items() if entry.get("uncertain")]:
            yield Paragraph(("Not foretold on ", Quoted(test.minion, 100), ": ", Quoted(", ".join(unsure), 400)))


def _examples(hole: Hole) -> Piece:
    if all(minion == value for minion, value in hole.examples.items()):
        return "the id of the minion"
    return Quoted(", ".join(f"{minion}: {value}" for minion, value in hole.examples.items()), 200)


def resource(change: ResourceChange, context: int) -> list[ReportBlock]:
    """One state. `context`: lines around each change of a file; `NAMES_ONLY` for no differences."""
    line: list[Piece] = [Quoted(SIGNS[change.action]), " ", Quoted(change.title, 200)]
    for label, text in (("", change.origin), ("", change.commit)):
        line += [f" · {label}", Quoted(text, 160)] if text else []
    for each in [file for file in change.files if file.commit][:2]:
        line += [" · template ", Quoted(each.source, 160), " (", Quoted(each.commit, 160), ")"]
    line += [" · ", Quoted(change.comment, 200)] if change.comment else []
    line += _pillar(change)
    if change.action == "removed":
        line.append(f" · {no_longer_managed(change.prune)}")
    if change.irreversible:
        line += [" · ", Strong("not taken back by a revert:"), " ", Quoted(change.irreversible, 200)]
    if change.certainty != "certain":
        line += [f" · {change.certainty}: ", Quoted(change.why_uncertain, 200)]
    if change.triggered_by:
        line += [" · may be triggered by ", *quoted(change.triggered_by, 5)]
    if change.triggers:
        line += [" · may trigger ", *quoted(change.triggers, 5)]
    if context == NAMES_ONLY:
        return [Bullets(((*line, *_sizes(change)),))]
    return [Bullets((tuple(line),)), *_differences(change, context)]


def _pillar(change: ResourceChange) -> Iterator[Piece]:
    """Which keys of the pillar are others, and where they are written."""
    for place, key in enumerate(change.pillar[:COUNTED]):
        yield " · because of pillar " if place == 0 else ", "
        yield Quoted(key.path, 100)
        where = [text for text in (key.origin, key.commit) if text]
        yield from (" (", Quoted(", ".join(where), 160), ")") if where else ()


def _sizes(change: ResourceChange) -> list[Piece]:
    """In place of the differences."""
    added, removed = 0, 0
    for text in (
        "\n".join(line for field in change.fields for line in field_lines(field)),
        *(f.text for f in change.files),
    ):
        more, less = count_changes(text)
        added, removed = added + more, removed + less
    return [f" · lines: +{number(added)} -{number(removed)}"] if added or removed else []


def _differences(change: ResourceChange, context: int) -> Iterator[ReportBlock]:
    if lines := [line for field in change.fields for line in field_lines(field)]:
        yield CodeBlock("\n".join(lines), "diff")
    for each in change.files:
        if each.note:
            path: tuple[Piece, ...] = (Quoted(each.path, 200), ": ") if each.path else ()
            yield Paragraph((*path, Quoted(each.note, 200)))
        if each.text:
            text = with_context(each.text, context)
            head = "" if text.startswith("--- ") else f"--- {each.path}\n+++ {each.path}\n"
            yield CodeBlock(head + text, "diff")


def class_fold(place: int, each: ChangeClass, context: int, noun: str = "Change") -> Fold:
    """All of a class."""
    blocks = [block for change in each.resources for block in resource(change, context)]
    return Fold(class_title(place, each, noun), (*class_head(each), *blocks, *_test_runs(each.tests)))


def drifted(report: PreviewReport) -> list[ReportBlock]:
    """What the last drift checks found, the most minions first."""
    return [class_fold(place, each, _CONTEXT, "Drift") for place, each in enumerate(report.drift, 1)]


def _test_runs(tests: Sequence[LiveTest]) -> Iterator[ReportBlock]:
    """What the asked minions say of each state."""
    for test in tests:
        if lines := list(state_lines(test.states)):
            yield Fold((Strong("test=True"), " on ", *_tested_on(test)), (CodeBlock("\n".join(lines), "diff"),))
