"""The report as a comment on a pull request: within the forge's budget, by a ladder that cuts no failure first.

What must be mended comes first and whole, then the table, then the folds of classes. Where room ends, the largest
differences lose lines of context, then all lines, so that the names of their states are left; then whole folds go, the
last ones first; a line says so and leads to the whole report. No block of code is ever cut in its middle. Pure; how
much there is to render is up to a branch, so the event loop calls it in a thread.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from controller.report import changes, details, failures, outcomes, summary
from controller.report.blocks import Fold, Link, Paragraph, Piece, Quoted, ReportBlock, Strong
from controller.report.markdown import render
from controller.report.marker import Marker, marker_line, marker_of
from controller.report.page import CONTEXT
from controller.report.templates import TemplateFailed, render_template
from controller.schema.reports import ApplyOutcome, ChangeClass, MergeOutcome, PreviewReport, ResourceChange

MINIMUM_BUDGET = 20_000
"""Characters in which every report fits: its headline, its failures at least counted, and the link."""
_CONTEXTS = (CONTEXT, 1, 0, changes.NAMES_ONLY)
"""Lines around changes, rung by rung."""
_ROWS = (20, 10, 5, 0)
"""Of the table."""
_MOST_FOLDS = 100
_MOST_RESOURCES = 500
"""Of a class in a comment."""
_SHARE = 4
"""A fold beside the classes takes at most this part of the room that is left."""
_FOLD_ENDS = 40
_TRIES = 4
"""With a template, whose own length is not known before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentOptions:
    """How a comment is made."""

    budget: int = 60_000
    """Characters; at least `MINIMUM_BUDGET` counts."""
    url: str = ""
    """Of the whole report; empty where there is none."""
    html: bool = True
    """Whether the forge folds `<details>` and hides HTML comments (not Bitbucket)."""
    commands: bool = True
    """Whether people can answer with commands."""
    merged: MergeOutcome | None = None
    applied: ApplyOutcome | None = None
    """What was applied before the merge."""
    template: str = ""
    """Jinja of the base's tree, in place of the order of parts here."""


def comment(report: PreviewReport, options: CommentOptions | None = None) -> str:
    """The comment, its marker first. It has at most `options.budget` characters."""
    options = options or CommentOptions()
    options = replace(options, budget=max(options.budget, MINIMUM_BUDGET))
    if not options.template:
        return _assembled(report, options, _parts(report, options, options.budget))
    try:
        return _by_template(report, options)
    except TemplateFailed as error:
        note = f"the template of the comment was not used: {error}"
        plain = msgspec.structs.replace(report, problems=(note, *report.problems))
        return _assembled(plain, options, _parts(plain, options, options.budget))


def marker(report: PreviewReport) -> Marker:
    """What the comment's first line says."""
    return marker_of(report.controller, report.environment, report.head, report.made_at)


@dataclass(slots=True)
class _Parts:
    """The comment's parts in Markdown."""

    title: str
    summary: str
    alerts: str
    outcome: str
    failures: str
    footer: str
    table: str = ""
    classes: str = ""
    details: str = ""

    def body(self) -> str:
        ordered = (self.title, self.summary, self.alerts, self.outcome, self.table, self.failures, self.classes)
        return "\n\n".join(part for part in (*ordered, self.details, self.footer) if part)

    def named(self) -> dict[str, str]:
        return {name: getattr(self, name) for name in self.__slots__}


def _assembled(report: PreviewReport, options: CommentOptions, parts: _Parts) -> str:
    return f"{marker_line(marker(report), html=options.html)}\n{parts.body()}\n"


def _by_template(report: PreviewReport, options: CommentOptions) -> str:
    """What the template makes of the parts; less is put into them until it fits. Failures stand in it in any case."""
    line = marker_line(marker(report), html=options.html)
    room = budget = options.budget
    for _ in range(_TRIES):
        parts = _parts(report, options, room)
        text = render_template(options.template, report, parts.named(), 4 * budget).strip("\n")
        if parts.failures and parts.failures not in text:
            text = f"{parts.failures}\n\n{text}"
        whole = f"{line}\n{text}\n"
        if _open_fence(text):
            raise TemplateFailed("it leaves a block of code open")
        if len(whole) <= budget:
            return whole
        room -= len(whole) - budget + _FOLD_ENDS
        if room < MINIMUM_BUDGET:
            break
    raise TemplateFailed(f"what it writes does not fit into {budget} characters")


def _open_fence(text: str) -> bool:
    """Whether a fence is opened and not closed."""
    fence = ""
    for line in text.split("\n"):
        run = line[: len(line) - len(line.lstrip("`"))]
        if not fence and len(run) >= 3:
            fence = run
        elif fence and len(run) >= len(fence) and not line[len(run) :].strip():
            fence = ""
    return bool(fence)


def _parts(report: PreviewReport, options: CommentOptions, budget: int) -> _Parts:
    html = options.html
    room = budget - len(marker_line(marker(report), html=html)) - 2
    parts = _first(report, options, room)
    room -= len(parts.body()) + 2
    room -= len(_footer(report, options, cut=True)) - len(parts.footer)  # it may become the longer one
    for rows in _ROWS:
        parts.table = render(summary.class_table(report, rows), html=html)
        if len(parts.table) + 2 <= room:
            break
    room -= len(parts.table) + 2
    found, left_out = [], False
    for _, blocks in details.details(report):
        text = render(blocks, html=html)
        if len(text) + 2 <= room // _SHARE:
            found.append(text)
            room -= len(text) + 2
        else:
            left_out = True
    parts.details = "\n\n".join(text for text in found if text)
    folds = _Folds(report.classes[:_MOST_FOLDS], html=html)
    folds.fill(max(0, room))
    parts.classes = folds.text()
    if left_out or folds.reduced or len(report.classes) > _MOST_FOLDS:
        parts.footer = _footer(report, options, cut=True)
    return parts


def _first(report: PreviewReport, options: CommentOptions, room: int) -> _Parts:
    """What no comment goes without. Failures are whole where they fit, else their first lines, else counted."""

    def text(blocks: Iterable[ReportBlock]) -> str:
        return render(blocks, html=options.html)

    parts = _Parts(
        title=text([summary.title(report)]),
        summary=text(summary.summary(report)),
        alerts=text(summary.alerts(report)),
        outcome=text(_outcomes(report, options)),
        failures="",
        footer=_footer(report, options, cut=True),  # the longer one, whose room is kept
    )
    hows: tuple[failures.Failures, ...] = ("whole", "first lines", "counted")
    for how in hows:
        blocks = [*failures.failures(report, how), *failures.failed_test_runs(report)]
        parts.failures = text(blocks)
        if len(parts.body()) <= room:
            parts.footer = _footer(report, options, cut=how != "whole")
            break
    return parts


def _outcomes(report: PreviewReport, options: CommentOptions) -> Iterator[ReportBlock]:
    if options.merged is not None:
        yield from outcomes.outcome(report, options.merged)
    if options.applied is not None:
        yield from outcomes.applied(report, options.applied, commands=options.commands)


def _footer(report: PreviewReport, options: CommentOptions, *, cut: bool) -> str:
    line: list[Piece] = []
    if cut:
        line.append(Strong("Not everything fits into this comment."))
    if options.url:
        line += [" " if line else "", Link("The whole report", options.url), "."]
    elif cut:
        line += [" ", Quoted("saltern preview"), " shows the rest."]
    if options.commands:
        line += [" " if line else "", "Commands: ", Quoted("/saltern help"), "."]
    return render([Paragraph(tuple(line))], html=options.html) if line else ""


@dataclass(slots=True)
class _Fold:
    """One class: its fold without resources, and each resource at the rung where it is now."""

    empty: str
    """With `_HERE` where the resources go."""
    resources: list[str]
    rungs: list[int]

    def size(self) -> int:
        return len(self.empty) + 2 + sum(len(text) + 2 for text in self.resources)


_HERE = "\0"
_RAW = 8
"""Differences with more characters than so many times the room are not looked at: what changes would not fit."""


def _raw_size(change: ResourceChange) -> int:
    of_fields = sum(len(str(value)) for each in change.fields for value in (each.old, each.new))
    return of_fields + sum(len(each.text) for each in change.files)


@dataclass(slots=True)
class _Folds:
    """The folds of classes, as large as there is room."""

    classes: Sequence[ChangeClass]
    html: bool
    reduced: bool = False
    folds: list[_Fold] = field(default_factory=list)

    def fill(self, room: int) -> None:
        """As many folds as fit with names alone, then their differences; the largest are taken back until all fit.

        What is rendered is bounded by the room, however much the report has.
        """
        size = 0
        for number, each in enumerate(self.classes):
            fold = self._fold(number + 1, each)
            if size + fold.size() > room:
                self.reduced = True
                break
            self.folds.append(fold)
            size += fold.size()
        queue = []
        for number, fold in enumerate(self.folds):
            for place, names in enumerate(fold.resources):
                if _raw_size(self.classes[number].resources[place]) > _RAW * room:
                    self.reduced = True
                    continue
                fold.resources[place], fold.rungs[place] = self._resource(number, place, 0), 0
                size += len(fold.resources[place]) - len(names)
                queue.append((-len(fold.resources[place]), number, place))
        heapq.heapify(queue)
        while size > room and queue:
            _, number, place = heapq.heappop(queue)
            fold = self.folds[number]
            rung = fold.rungs[place] + 1
            if rung == len(_CONTEXTS):
                continue
            text = self._resource(number, place, rung)
            size += len(text) - len(fold.resources[place])
            fold.resources[place], fold.rungs[place] = text, rung
            self.reduced = True
            heapq.heappush(queue, (-len(text), number, place))

    def text(self) -> str:
        """Those that are left."""
        return "\n\n".join(fold.empty.replace(_HERE, "\n\n".join(fold.resources)) for fold in self.folds)

    def _fold(self, number: int, each: ChangeClass) -> _Fold:
        shown = each.resources[:_MOST_RESOURCES]
        self.reduced |= len(shown) < len(each.resources)
        head = Fold(changes.class_title(number, each), (*changes.class_head(each), Paragraph((_HERE,))))
        empty = render([head], html=self.html)
        texts = [render(changes.resource(change, changes.NAMES_ONLY), html=self.html) for change in shown]
        return _Fold(empty, texts, [len(_CONTEXTS) - 1] * len(texts))

    def _resource(self, number: int, place: int, rung: int) -> str:
        return render(changes.resource(self.classes[number].resources[place], _CONTEXTS[rung]), html=self.html)
