"""The check `saltern/preview (ENV)`: what a report says in one line, and on lines of the pull request's files. Pure."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator

import msgspec

from controller.forges.client import Annotation, CheckState, ForgeCheck
from controller.report.escape import clipped, code_span, visible
from controller.report.wording import counted, headline
from controller.schema.reports import MinionErrors, PreviewReport, Violation

TITLE = 140
"""Characters of a title."""
MOST_ANNOTATIONS = 50
LONGEST_MESSAGE = 2000
"""Characters of an annotation or of a line of the summary."""
_MOST_LINES = 30
_PLACE = re.compile(r"(?P<path>[^\0\n]{1,400}):(?P<line>[1-9][0-9]{0,6})")


def check_of(report: PreviewReport, name: str, *, approved_by: str = "", url: str = "") -> ForgeCheck:
    """The check of a finished preview.

    Args:
        report: of the head.
        name: of the check.
        approved_by: who approved what the policy forbids without approval; empty: nobody.
        url: of the whole report.
    """
    standing = tuple(each for each in report.violations if not (each.approvable and approved_by))
    failed = bool(report.broken or standing or report.problems)
    nothing = bool(report.unknown and not report.classes)
    return ForgeCheck(
        name=name,
        state=CheckState.FAILURE if failed else CheckState.NEUTRAL if nothing else CheckState.SUCCESS,
        title=_title(report, standing)[:TITLE],
        summary="\n".join(_summary(report, standing, approved_by)),
        url=url,
        annotations=tuple(_annotations(report))[:MOST_ANNOTATIONS],
    )


def running_check(name: str) -> ForgeCheck:
    """While a preview is made."""
    return ForgeCheck(name=name, state=CheckState.RUNNING, title="the preview is being made")


def cancelled_check(name: str) -> ForgeCheck:
    """On a commit that is not the head any more, or of a pull request that was closed."""
    return ForgeCheck(name=name, state=CheckState.CANCELLED, title="cancelled: there is nothing to preview any more")


def waiting_check(name: str, head: str) -> ForgeCheck:
    """On the head of a stranger."""
    title = f"not previewed: a maintainer has to write /saltern preview --commit {head[:12]}"
    return ForgeCheck(name=name, state=CheckState.NEUTRAL, title=title)


def failed_check(name: str, failure: str) -> ForgeCheck:
    """When the preview could not be made. It says nothing about the change, so that it does not fail."""
    title = _one_line(f"not previewed; it is tried again: {failure}")
    return ForgeCheck(name=name, state=CheckState.NEUTRAL, title=title[:TITLE], summary=_item(failure))


def digest_of(head: str, check: ForgeCheck) -> str:
    """Equal for what a forge shows equally."""
    text = f"{head}\0{check.name}\0{check.state.value}\0{check.title}\0{check.summary}\0{check.annotations}"
    return hashlib.sha256(text.encode()).hexdigest()


def _title(report: PreviewReport, standing: tuple[Violation, ...]) -> str:
    if report.problems:
        return _one_line(report.problems[0])
    parts = [f"{_sum(report.broken)} of {counted(report.minions, 'minion')} do not compile"] if report.broken else []
    parts += [f"{counted(len(standing), 'rule')} of the policy broken: {standing[0].rule}"] if standing else []
    parts.append(headline(report))
    parts += [f"nothing is known of {counted(_sum(report.unknown), 'minion')}"] if report.unknown else []
    return "; ".join(parts)


def _summary(report: PreviewReport, standing: tuple[Violation, ...], approved_by: str) -> Iterator[str]:
    for problem in report.problems[:_MOST_LINES]:
        yield _item(problem)
    for each in standing[:_MOST_LINES]:
        hint = "; a maintainer may write /saltern approve" if each.approvable else ""
        yield _item(f"{each.rule}: {each.message}{hint}")
    if approved_by and len(standing) < len(report.violations):
        yield _item(f"{counted(len(report.violations) - len(standing), 'violation')} approved by {approved_by}")
    yield _item(headline(report))
    if report.irreversible:
        yield _item(f"{counted(report.irreversible, 'act')} that a revert does not take back")


def _item(text: str) -> str:
    return f"- {code_span(text, LONGEST_MESSAGE)}"


def _annotations(report: PreviewReport) -> Iterator[Annotation]:
    yield from _of_errors(report.broken, "failure")
    yield from _of_errors(report.warned, "warning")
    for each in report.classes:
        for resource in each.resources:
            found = _PLACE.fullmatch(resource.place)
            if found is not None:
                message = (
                    f"{resource.title}: a revert does not take it back ({resource.irreversible}), on {each.folded}"
                )
                yield _annotation(found, "warning", message)


def _of_errors(errors: tuple[MinionErrors, ...], level: str) -> Iterator[Annotation]:
    for each in errors:
        for text, place in zip(each.texts, each.places, strict=False):
            found = _PLACE.fullmatch(place)
            if found is not None:
                yield _annotation(found, level, f"{text}\non {each.folded}")


def _annotation(found: re.Match[str], level: str, message: str) -> Annotation:
    fields = {"path": found["path"], "line": int(found["line"]), "level": level, "message": message[:LONGEST_MESSAGE]}
    return msgspec.convert(fields, Annotation)


def _one_line(text: str) -> str:
    return clipped(visible(" ".join(text.split())), LONGEST_MESSAGE)


def _sum(errors: tuple[MinionErrors, ...]) -> int:
    return sum(len(each.minions) for each in errors)
