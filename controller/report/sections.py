"""The parts of a report as blocks. Every output has them, in this order; a comment leaves out some where room ends.

What stands in the lists above the folds is bounded here; folds hold what the report has. Pure; called by `page` and
`comment`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from controller.report.blocks import (
    Bullets,
    CodeBlock,
    Fold,
    Heading,
    Paragraph,
    Piece,
    Quoted,
    ReportBlock,
    ReportLine,
    Strong,
    Table,
)
from controller.report.diffs import count_changes, field_lines, value_text, with_context
from controller.report.wording import SIGNS, counted, counts, failed_tests, headline, names, number, signs
from controller.schema.reports import (
    ApplyTiming,
    ChangeClass,
    LiveTest,
    MergeOutcome,
    MinionErrors,
    PreviewReport,
    ResourceChange,
    ServiceRestart,
)

Failures: TypeAlias = Literal["whole", "first lines", "counted"]
"""How much is said of what must be mended."""

_STATES = Paragraph((Strong("States"),))
NAMES_ONLY = -1
"""In place of the lines around a change: no difference at all."""
_TOP = 5
"""Lines of one kind above the folds."""
_RESTRICTED = (
    " of a change from outside: no Python of its tree was run, secrets are dummies, and no minion was asked."
    " What depends on these is not shown."
)
_COUNTED = 5
_EXCERPT = 200
"""Characters of the first line of an error."""


def title(report: PreviewReport) -> Heading:
    """Which change, where."""
    line: list[Piece] = ["Saltern preview: ", Quoted(report.base[:8]), " → ", Quoted(report.head[:8])]
    line += [" (environment ", Quoted(report.environment, 60), ")"] if report.environment else []
    return Heading(tuple(line), 1)


def summary(report: PreviewReport) -> list[ReportBlock]:
    """The headline with its counts, and what was compared where that is not the usual."""
    line: list[Piece] = [Strong(headline(report))]
    line += [" · ", Quoted(signs(report.classes))] if signs(report.classes) else []
    for part in counts(report):
        line += [" · ", part]
    blocks: list[ReportBlock] = [Paragraph(tuple(line))]
    if report.restricted:
        blocks.append(Paragraph((Strong("Restricted preview"), _RESTRICTED)))
    return blocks


def alerts(report: PreviewReport) -> list[ReportBlock]:
    """What a reader must not miss: restarts of whole groups, acts that cannot be taken back, when it is applied."""
    lines: list[ReportLine] = []
    if report.violations:
        lines.append((Strong(f"{counted(len(report.violations), 'rule')} of the policy broken"), ", see below."))
    if report.broken:
        lines.append((Strong(f"Does not compile on {counted(report.broken_minions, 'minion')}"), ", see below."))
    for problem in report.problems[:_TOP]:
        lines.append((Strong("Problem:"), " ", Quoted(problem, 400)))
    lines += _more(len(report.problems) - _TOP, "problem")
    lines += _whole_groups(report.restarts)
    if acts := [(each, resource) for each in report.classes for resource in each.resources if resource.irreversible]:
        lines.append((Strong(f"{counted(len(acts), 'act')} that a revert does not take back:"), *_acts(acts)))
    if removed := sum(resource.action == "removed" for each in report.classes for resource in each.resources):
        states = counted(removed, "state is", "states are")
        lines.append((Strong(f"{states} not managed any more:"), " what was made stays on the machines."))
    if failed := failed_tests(report):
        lines.append((Strong(f"The test run failed on {counted(failed, 'minion')}"), ", see below."))
    lines += _timing_alerts(report.timing)
    if report.capabilities:
        lines.append((Strong(f"New abilities of the trees: {number(len(report.capabilities))}"), ", see below."))
    return [Bullets(tuple(lines))] if lines else []


def _whole_groups(restarts: Sequence[ServiceRestart]) -> list[ReportLine]:
    found = [each for each in restarts if each.whole_groups]
    lines: list[ReportLine] = []
    for each in found[:_TOP]:
        line: list[Piece] = [Strong("Every minion"), " of ", *_quoted(each.whole_groups, 3)]
        line += [" may " if not each.certain else " ", f"{_verb(each.action, each.certain)} ", Quoted(each.service, 60)]
        lines.append((*line, " at once."))
    return lines + _more(len(found) - _TOP, "service of a whole group", "services of whole groups")


def _verb(action: str, certain: bool) -> str:
    return f"{action}s" if certain else action


def _acts(acts: Sequence[tuple[ChangeClass, ResourceChange]]) -> Iterator[Piece]:
    for place, (each, resource) in enumerate(acts[:_COUNTED]):
        yield " " if place == 0 else "; "
        yield Quoted(resource.title, 80)
        yield f" on {counted(len(each.minions), 'minion')}"
    if len(acts) > _COUNTED:
        yield f"; and {number(len(acts) - _COUNTED)} more"


def _timing_alerts(timing: Sequence[ApplyTiming]) -> list[ReportLine]:
    lines: list[ReportLine] = []
    for each in timing[:_COUNTED]:
        on = f" ({counted(len(each.minions), 'minion')})" if each.minions else ""
        lines.append((Strong("When:"), " ", Quoted(each.text, 200), on))
    return lines + _more(len(timing) - _COUNTED, "note on when it is applied", "notes on when it is applied")


def _more(count: int, noun: str, plural: str = "") -> list[ReportLine]:
    return [(f"and {counted(count, 'more ' + noun, 'more ' + plural if plural else '')}",)] if count > 0 else []


def class_table(report: PreviewReport, most: int) -> list[ReportBlock]:
    """A row for each of the largest classes."""
    if not report.classes or not most:
        return []
    rows = tuple(
        _class_row(place, each, _restarting(report.restarts, each))
        for place, each in enumerate(report.classes[:most], 1)
    )
    heads = ("#", "minions", "", "states", "restarts", "not taken back", "test=True")
    used = [place for place in range(len(heads)) if any(row[place] not in ((), ("",)) for row in rows)]
    table = Table(tuple(heads[place] for place in used), tuple(tuple(row[place] for place in used) for row in rows))
    left = len(report.classes) - most
    return [table, Paragraph((f"and {counted(left, 'more change')}",))] if left > 0 else [table]


def _restarting(restarts: Sequence[ServiceRestart], each: ChangeClass) -> list[str]:
    """Services that restart on a minion of the class."""
    minions = frozenset(each.minions)
    found = (
        one.service for one in restarts if one.action in ("restart", "stop") and not minions.isdisjoint(one.minions)
    )
    return list(dict.fromkeys(found))


def _class_row(place: int, each: ChangeClass, restarting: Sequence[str]) -> tuple[ReportLine, ...]:
    irreversible = sum(bool(resource.irreversible) for resource in each.resources)
    return (
        (str(place),),
        (number(len(each.minions)),),
        (Quoted(names(each.folded, each.minions), 60),),
        (Quoted(signs([each]) or "0"),),
        tuple(_quoted(restarting, 2)),
        (str(irreversible or ""),),
        (_tested(each),),
    )


def _tested(each: ChangeClass) -> str:
    if not each.tests:
        return ""
    answered = [test for test in each.tests if test.outcome != "unreachable"]
    failed = sum(test.failed > 0 or test.outcome in ("failed", "error") for test in answered)
    return f"{len(answered)} asked" + (f", {failed} failed" if failed else "") if answered else "unreachable"


def failures(report: PreviewReport, how: Failures) -> list[ReportBlock]:
    """What must be mended: rules that are broken, errors of the compile."""
    return [*_violations(report, how), *_broken(report.broken, how)]


def _violations(report: PreviewReport, how: Failures) -> list[ReportBlock]:
    if not report.violations:
        return []
    most = len(report.violations) if how == "whole" else _COUNTED
    lines: list[ReportLine] = []
    for each in report.violations[:most]:
        approve: tuple[Piece, ...] = (" (", Quoted("/saltern approve"), " takes it away)") if each.approvable else ()
        message = each.message if how == "whole" else each.message[:_EXCERPT]
        lines.append((Quoted(each.rule, 80), ": ", Quoted(message, 1000), *approve))
    heading = f"Against the policy: {counted(len(report.violations), 'rule')}"
    return [Heading((heading,)), Bullets((*lines, *_more(len(report.violations) - most, "rule")))]


def _broken(broken: Sequence[MinionErrors], how: Failures) -> list[ReportBlock]:
    if not broken:
        return []
    count = sum(len(each.minions) for each in broken)
    blocks: list[ReportBlock] = [Heading((f"Does not compile: {counted(count, 'minion')}",))]
    if how == "whole":
        for each in broken:
            blocks += [_errors_title(each, 2000), CodeBlock("\n\n".join(each.texts))]
        return blocks
    most = len(broken) if how == "first lines" else _COUNTED
    lines = tuple((*_errors_title(each, 60).line, " ", Quoted(_first(each), _EXCERPT)) for each in broken[:most])
    return [*blocks, Bullets((*lines, *_more(len(broken) - most, "different error")))]


def _errors_title(each: MinionErrors, most: int) -> Paragraph:
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
    for test in tests[:_TOP]:
        lines.append((Quoted(test.minion, 100), f": {test.outcome} ", Quoted(test.summary or _failed_state(test), 300)))
    return [
        Heading((f"Failed test runs: {number(len(tests))}",)),
        Bullets((*lines, *_more(len(tests) - _TOP, "minion"))),
    ]


def _failed_state(test: LiveTest) -> str:
    for key, entry in test.states.items():
        if isinstance(entry, Mapping) and entry.get("result") is False:
            return f"{key.replace('_|-', ' ')}: {entry.get('comment', '')}"
    return f"{counted(test.failed, 'state')} would fail"


def class_title(place: int, each: ChangeClass) -> ReportLine:
    """Of the fold of a class."""
    of = Quoted(names(each.folded, each.minions), 80)
    return (Strong(f"Change {place}"), f" on {counted(len(each.minions), 'minion')}: ", of, " ", Quoted(signs([each])))


def class_head(each: ChangeClass) -> list[ReportBlock]:
    """What is said of a class before its resources."""
    blocks: list[ReportBlock] = [Paragraph(("Minions: ", Quoted(names(each.folded, each.minions), 2000)))]
    if each.holes:
        rows = []
        for hole in each.holes[:20]:
            examples = ", ".join(f"{minion}: {value}" for minion, value in hole.examples.items())
            rows.append(((Quoted(hole.name, 80),), (Quoted(examples, 200),)))
        blocks.append(Table(("differs by minion", "examples"), tuple(rows)))
    if tests := [test for test in each.tests if test.outcome != "unreachable"]:
        lines = tuple(
            (Quoted(test.minion, 100), f": {test.outcome} ", Quoted(test.summary, 200)) for test in tests[:_TOP]
        )
        blocks += [Paragraph((f"Asked by test=True: {counted(len(tests), 'minion')}",)), Bullets(lines), _STATES]
    return blocks


def resource(change: ResourceChange, context: int) -> list[ReportBlock]:
    """One state. `context`: lines around each change of a file; `NAMES_ONLY` for no differences."""
    line: list[Piece] = [Quoted(SIGNS[change.action]), " ", Quoted(change.title, 200)]
    for label, text in (("", change.origin), ("", change.commit)):
        line += [f" · {label}", Quoted(text, 160)] if text else []
    if change.action == "removed":
        line.append(" · no longer managed; left as it is on the machine")
    if change.irreversible:
        line += [" · ", Strong("not taken back by a revert:"), " ", Quoted(change.irreversible, 200)]
    if change.certainty != "certain":
        line += [f" · {change.certainty}: ", Quoted(change.why_uncertain, 200)]
    if change.triggered_by:
        line += [" · may be triggered by ", *_quoted(change.triggered_by, 5)]
    if change.triggers:
        line += [" · may trigger ", *_quoted(change.triggers, 5)]
    if context == NAMES_ONLY:
        return [Bullets(((*line, *_sizes(change)),))]
    return [Bullets((tuple(line),)), *_differences(change, context)]


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
            yield Paragraph((Quoted(each.path, 200), ": ", Quoted(each.note, 200)))
        if each.text:
            text = with_context(each.text, context)
            head = "" if text.startswith("--- ") else f"--- {each.path}\n+++ {each.path}\n"
            yield CodeBlock(head + text, "diff")


def _quoted(texts: Sequence[str], most: int) -> Iterator[Piece]:
    for place, text in enumerate(texts[:most]):
        if place:
            yield ", "
        yield Quoted(text, 100)
    if len(texts) > most:
        yield f" and {number(len(texts) - most)} more"


def class_fold(place: int, each: ChangeClass, context: int) -> Fold:
    """All of a class."""
    blocks = [block for change in each.resources for block in resource(change, context)]
    return Fold(class_title(place, each), (*class_head(each), *blocks, *_test_runs(each.tests)))


def _test_runs(tests: Sequence[LiveTest]) -> Iterator[ReportBlock]:
    """What the asked minions say of each state."""
    for test in tests:
        if lines := list(_state_lines(test.states)):
            yield Fold((Strong("test=True"), " on ", Quoted(test.minion, 100)), (CodeBlock("\n".join(lines), "diff"),))


def forecast(report: PreviewReport) -> list[ReportBlock]:
    """Services that restart, and where."""
    if not report.restarts:
        return []
    rows = []
    for each in report.restarts:
        sure = each.action if each.certain else f"{each.action} (may)"
        groups = tuple(_quoted(each.whole_groups, 5))
        rows.append(((Quoted(each.service, 80),), (sure,), (number(len(each.minions)),),
                     (Quoted(names(each.folded, each.minions), 100),), groups))  # fmt: skip
    return [Fold((Strong(f"Forecast of services: {number(len(rows))}"),),
                 (Table(("service", "what", "minions", "", "whole groups"), tuple(rows)),))]  # fmt: skip


def timing(report: PreviewReport) -> list[ReportBlock]:
    """When the change is applied, with the minions that this concerns."""
    lines: list[ReportLine] = []
    for each in report.timing:
        on: tuple[Piece, ...] = (" on ", Quoted(", ".join(each.minions), 300)) if each.minions else ()
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
    heading = f"Not managed any more, left on the machines: {counted(len(lines), 'state')}"
    return [Fold((Strong(heading),), (Bullets(tuple(lines)),))] if lines else []


def drift(report: PreviewReport) -> list[ReportBlock]:
    """What differs on the asked minions for other reasons."""
    tests = [test for each in report.classes for test in each.tests if test.drift]
    blocks: list[ReportBlock] = []
    for test in tests:
        blocks += [Paragraph((Quoted(test.minion, 100),)), CodeBlock("\n".join(_state_lines(test.drift)), "diff")]
    on = counted(len(tests), "asked minion")
    return [Fold((Strong("Existing drift"), f" on {on}, not caused by this change"), tuple(blocks))] if tests else []


def _state_lines(states: Mapping[str, Any]) -> Iterator[str]:
    for key, entry in states.items():
        parts = key.split("_|-")
        name = f"{parts[1]} ({parts[0]}.{parts[3]})" if len(parts) == 4 else key
        fields = entry if isinstance(entry, Mapping) else {"comment": entry}
        changes = fields.get("changes")
        if fields.get("result") is True and not changes:
            continue
        yield f"# {name}: {' '.join(str(fields.get('comment', '')).split())}"
        more = dict(changes) if isinstance(changes, Mapping) else {"changes": changes} if changes else {}
        if isinstance(difference := more.get("diff"), str):
            yield difference.rstrip("\n")
            del more["diff"]
        yield from (f"  {label}: {value_text(value)}" for label, value in more.items())


def errors_fold(heading: str, found: Sequence[MinionErrors]) -> list[ReportBlock]:
    """Warnings, or functions whose answers are not to be had."""
    blocks: list[ReportBlock] = []
    for each in found:
        blocks += [_errors_title(each, 500), CodeBlock("\n".join(each.texts))]
    count = sum(len(each.minions) for each in found)
    return [Fold((Strong(heading), f": {counted(count, 'minion')}"), tuple(blocks))] if found else []


def unknown(report: PreviewReport) -> list[ReportBlock]:
    """Minions whose answers the head needs, and nobody had."""
    return errors_fold("Not known, because answers of the machines are missing", report.unknown)


def warned(report: PreviewReport) -> list[ReportBlock]:
    """Warnings that the base does not have."""
    return errors_fold("New warnings", report.warned)


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


def compared(report: PreviewReport) -> list[ReportBlock]:
    """Commits, remotes, time."""
    how = "merged into the base" if report.merged else "as it is"
    lines: list[ReportLine] = [("base ", Quoted(report.base)), ("head ", Quoted(report.head), f", {how}")]
    for moved in report.moved:
        commits = f"{moved.base or 'nothing'}..{moved.head}"
        lines.append(
            (Quoted(f"{moved.remote} {commits}"), ": ", Quoted(moved.subject, 200), " by ", Quoted(moved.author))
        )
    return [Fold((Strong("What was compared"),), (Bullets(tuple(lines)),))]


def outcome(report: PreviewReport, merged: MergeOutcome) -> list[ReportBlock]:
    """What happened after the merge, a class a row, then every minion that did something else."""
    places = {each.id: place for place, each in enumerate(report.classes, 1)}
    rows: list[tuple[ReportLine, ...]] = []
    odd: list[ReportLine] = []
    for each in merged.classes:
        counts_of = (each.applied, each.differs, each.failed, each.waiting)
        rows.append(((str(places.get(each.id, "?")),), *((number(len(some)),) for some in counts_of)))
        odd += [(Quoted(minion, 100), ": failed: ", Quoted(text, 300)) for minion, text in each.failed.items()]
        odd += [(Quoted(minion, 100), ": differs: ", Quoted(text, 300)) for minion, text in each.differs.items()]
    heading = "After the merge" if merged.complete else "After the merge, so far"
    table = Table(("change", "as previewed", "otherwise", "failed", "waiting"), tuple(rows[:20]))
    blocks: list[ReportBlock] = [Heading((heading, " of ", Quoted(merged.commit[:8]))), table]
    return blocks + ([Bullets((*odd[:_TOP], *_more(len(odd) - _TOP, "minion")))] if odd else [])


def details(report: PreviewReport) -> Iterable[tuple[str, list[ReportBlock]]]:
    """Name -> the folds beside the classes, the most important first."""
    yield "unknown", unknown(report)
    yield "forecast", forecast(report)
    yield "timing", timing(report)
    yield "capabilities", capabilities(report)
    yield "orphans", orphans(report)
    yield "drift", drift(report)
    yield "warned", warned(report)
