"""What was found, as Markdown: a row for each case, the reasons, and what has none. Called by `__main__`.

The page docs/second-opinion.md is this text; nothing is run here.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tools.second_opinion.comparison import Disagreement, Side, of_neither
from tools.second_opinion.explanations import Explanation

KINDS = ("compile", "result", "changes", "files", "salt-looks", "saltern-looks", "twice")


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseReport:
    """A case with all that the two sides disagree in."""

    key: str
    states: int | None
    """How many there are; None where neither of the sides compiles the case, or one of them does not."""
    failed: int
    """How many of them fail on both sides: what they need cannot be had on such a root."""
    neither: tuple[str, ...]
    """What neither could do, without what only follows from it."""
    found: tuple[tuple[Disagreement, Explanation | None], ...]

    @property
    def unexplained(self) -> list[Disagreement]:
        """What has no reason."""
        return [one for one, entry in self.found if entry is None]


def case_report(
    key: str, saltern: Side, salt: Side, found: Iterable[tuple[Disagreement, Explanation | None]]
) -> CaseReport:
    """The report of what two sides did."""
    mine, theirs = saltern.steps["apply"], salt.steps["apply"]
    states = None if mine.error or theirs.error else len(theirs.states)
    both = (tag for tag in mine.states if tag in theirs.states)
    failed = sum(mine.states[tag]["result"] is False is theirs.states[tag]["result"] for tag in both)
    neither = tuple(of_neither(saltern, salt))
    return CaseReport(key=key, states=states, failed=failed, neither=neither, found=tuple(found))


def summary(reports: Sequence[CaseReport]) -> str:
    """The numbers of all cases, in a sentence."""
    formulas = {one.key.partition("/")[0] for one in reports}
    pairs = [pair for one in reports for pair in one.found]
    open_ones = sum(entry is None for _, entry in pairs)
    states = sum(one.states or 0 for one in reports)
    agreed = sum(not one.found for one in reports)
    reasoned = sum(bool(one.found) and not one.unexplained for one in reports)
    return (
        f"{len(reports)} cases of {len(formulas)} formulas, {states} states: {agreed} cases agree in everything, "
        f"{reasoned} in everything but what has a reason, {len(reports) - agreed - reasoned} do not. "
        f"{len(pairs) - open_ones} disagreements have a reason, {open_ones} have none."
    )


def tables(reports: Sequence[CaseReport]) -> str:
    """The Markdown of cases, reasons, and disagreements without one."""
    parts = (_cases(reports), _reasons(reports), _unexplained(reports), _of_neither(reports))
    return "\n\n".join("\n".join(part) for part in parts) + "\n"


def _cases(reports: Sequence[CaseReport]) -> Iterator[str]:
    yield from _table_head(["case", "states", "fail on both", *KINDS, "without a reason"])
    for one in reports:
        counts = Counter(disagreement.about for disagreement, _ in one.found)
        states: object = "does not compile" if one.states is None else one.states
        shown = [counts[kind] or "" for kind in KINDS]
        yield _row([one.key, states, one.failed or "", *shown, len(one.unexplained) or ""])


def _reasons(reports: Sequence[CaseReport]) -> Iterator[str]:
    times: Counter[str] = Counter()
    cases: defaultdict[str, set[str]] = defaultdict(set)
    for one in reports:
        for _, entry in one.found:
            if entry is not None:
                times[entry.why] += 1
                cases[entry.why].add(one.key.partition("/")[0])
    yield from _table_head(["disagreements", "formulas", "why"])
    for why, count in times.most_common():
        yield _row([count, len(cases[why]), why])


def _unexplained(reports: Sequence[CaseReport]) -> Iterator[str]:
    if not any(report.unexplained for report in reports):
        yield "No disagreement is without a reason."
        return
    yield from _table_head(["without a reason", "about", "state or path", "Saltern", "Salt"])
    for report in reports:
        for one in report.unexplained:
            yield _row([one.case, one.about, one.place, _short(one.saltern), _short(one.salt)])


def _of_neither(reports: Sequence[CaseReport]) -> Iterator[str]:
    yield from _table_head(["neither could", "the first of how many", "in Salt's words"])
    for report in reports:
        if report.neither:
            yield _row([report.key, len(report.neither), _short(report.neither[0])])


def _short(text: str) -> str:
    # Sites are named, and not linked to.
    bare = text.replace("https://", "").replace("http://", "")
    line = " ".join(bare.replace("|", "¦").replace("`", "'").replace("<", "(").split())
    return line if len(line) <= 160 else f"{line[:155]} …"


def _table_head(names: Sequence[str]) -> Iterator[str]:
    yield _row(names)
    yield f"|{'---|' * len(names)}"


def _row(cells: Iterable[object]) -> str:
    return f"| {' | '.join(map(str, cells))} |"
