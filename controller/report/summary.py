"""What a reader sees first: which change it is, how many minions it concerns, what must not be missed, the table.

Every list here is bounded. Pure; called by `page` and `comment`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from controller.report.blocks import (
    Bullets,
    Heading,
    Paragraph,
    Piece,
    Quoted,
    ReportBlock,
    ReportLine,
    Strong,
    Table,
)
from controller.report.lists import COUNTED, TOP, more, quoted
from controller.report.wording import counted, counts, failed_tests, has_nothing_to_do, headline, names, number, signs
from controller.schema.reports import (
    ApplyTiming,
    ChangeClass,
    PreviewReport,
    ResourceChange,
    ServiceRestart,
)

_RESTRICTED = (
    " of a change from outside: no Python of its tree was run, dummies stand for secrets and values of the pillar, and"
    " no minion was asked. What depends on these is not shown."
)


def title(report: PreviewReport) -> Heading:
    """Which change, where."""
    if has_nothing_to_do(report):
        return Heading(("Saltern diff, not applied yet: nothing",), 1)
    if report.kind != "preview":
        base = report.base[:8] if report.kind == "plan" else report.base
        what = "Saltern diff: " if report.kind == "plan" else "Saltern diff, not applied yet: "
        return Heading((what, Quoted(base or "nothing", 100), " → ", Quoted(report.head[:8])), 1)
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
    for problem in report.problems[:TOP]:
        lines.append((Strong("Problem:"), " ", Quoted(problem, 400)))
    lines += more(len(report.problems) - TOP, "problem")
    lines += _whole_groups(report.restarts)
    if acts := [(each, resource) for each in report.classes for resource in each.resources if resource.irreversible]:
        lines.append((Strong(f"{counted(len(acts), 'act')} that a revert does not take back:"), *_acts(acts)))
    if removed := sum(resource.action == "removed" for each in report.classes for resource in each.resources):
        states = counted(removed, "state is", "states are")
        modes = {one.prune for each in report.classes for one in each.resources if one.action == "removed"}
        what = "is removed" if modes == {"on"} else "is removed where `prune` is on" if "on" in modes else "stays"
        lines.append((Strong(f"{states} not managed any more:"), f" what was made {what} on the machines."))
    if failed := failed_tests(report):
        lines.append((Strong(f"The test run failed on {counted(failed, 'minion')}"), ", see below."))
    lines += _timing_alerts(report.timing)
    if report.capabilities:
        lines.append((Strong(f"New abilities of the trees: {number(len(report.capabilities))}"), ", see below."))
    return [Bullets(tuple(lines))] if lines else []


def _whole_groups(restarts: Sequence[ServiceRestart]) -> list[ReportLine]:
    found = [each for each in restarts if each.whole_groups]
    lines: list[ReportLine] = []
    for each in found[:TOP]:
        line: list[Piece] = [Strong("Every minion"), " of ", *quoted(each.whole_groups, 3)]
        line += [" may " if not each.certain else " ", f"{_verb(each.action, each.certain)} ", Quoted(each.service, 60)]
        lines.append((*line, " at once."))
    return lines + more(len(found) - TOP, "service of a whole group", "services of whole groups")


def _verb(action: str, certain: bool) -> str:
    return f"{action}s" if certain else action


def _acts(acts: Sequence[tuple[ChangeClass, ResourceChange]]) -> Iterator[Piece]:
    for place, (each, resource) in enumerate(acts[:COUNTED]):
        yield " " if place == 0 else "; "
        yield Quoted(resource.title, 80)
        yield f" on {counted(len(each.minions), 'minion')}"
    if len(acts) > COUNTED:
        yield f"; and {number(len(acts) - COUNTED)} more"


def _timing_alerts(timing: Sequence[ApplyTiming]) -> list[ReportLine]:
    lines: list[ReportLine] = []
    for each in timing[:COUNTED]:
        on = f" ({counted(len(each.minions), 'minion')})" if each.minions else ""
        lines.append((Strong("When:"), " ", Quoted(each.text, 200), on))
    return lines + more(len(timing) - COUNTED, "note on when it is applied", "notes on when it is applied")


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
        tuple(quoted(restarting, 2)),
        (str(irreversible or ""),),
        (_tested(each),),
    )


def _tested(each: ChangeClass) -> str:
    if not each.tests:
        return ""
    answered = [test for test in each.tests if test.outcome != "unreachable"]
    failed = sum(test.failed > 0 or test.outcome in ("failed", "error") for test in answered)
    if not answered:
        return "unreachable"
    by_salt = sum(bool(test.agent) for test in answered)
    said = [
        f"{len(answered)} asked",
        f"{failed} failed" if failed else "",
        f"{by_salt} as Salt foretells" if by_salt else "",
    ]
    return ", ".join(filter(None, said))
