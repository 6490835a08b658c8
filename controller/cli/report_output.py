"""Reports of previews as the command line prints and saves them: forms, colours, exit codes."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

import click

from controller.cli import output
from controller.cli.failure import COMPILE, FAILED, OK, PENDING, Failure
from controller.report.comment import CommentOptions, comment
from controller.report.html import html
from controller.report.markdown import markdown
from controller.report.text import text
from controller.report.wording import failed_tests
from controller.schema.preview_stream import PreviewFinished, PreviewProgress
from controller.schema.reports import PreviewReport

Form: TypeAlias = Literal["text", "json", "yaml", "markdown", "html", "comment"]
FORMS: tuple[Form, ...] = get_args(Form)
_SUFFIXES: dict[str, Form] = {
    ".txt": "text",
    ".json": "json",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".md": "comment",
    ".html": "html",
}
_COLOURS = {"+": "green", "-": "red", "~": "yellow", "↻": "cyan"}
_CLEAR = "\r\x1b[K"
_SIGN = re.compile(r"\s+(?:\* )?([+\-~↻])")


def form_of(path: Path) -> Form:
    """The form of a file by its name; a usage error for a name that says nothing."""
    try:
        return _SUFFIXES[path.suffix.lower()]
    except KeyError:
        raise click.UsageError(f"--save {path}: the name must end with one of {', '.join(_SUFFIXES)}") from None


def rendered(report: PreviewReport, form: Form) -> str:
    """The report in a form."""
    match form:
        case "markdown":
            return markdown(report)
        case "html":
            return html(report)
        case "comment":
            return comment(report, CommentOptions(commands=False))
        case "json" | "yaml":
            return output.document_text(report, form)
        case "text":
            return text(report)


def save(report: PreviewReport, path: Path) -> None:
    """Write the report to a file; Failure where that cannot be done."""
    try:
        path.write_text(rendered(report, form_of(path)), encoding="utf-8")
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error.strerror}") from None


def show(report: PreviewReport, form: Form) -> None:
    """Print it; text with colours where these are wanted."""
    shown = rendered(report, form)
    click.echo(_coloured(shown) if form == "text" and output.coloured() else shown, nl=False)


def _coloured(shown: str) -> str:
    lines = []
    for line in shown.split("\n"):
        sign = _SIGN.match(line)
        lines.append(output.styled(line, fg=_COLOURS[sign[1]]) if sign else line)
    return "\n".join(lines)


def last_report(items: Iterable[Any]) -> PreviewReport:
    """The report at the end of a stream, whose progress is shown meanwhile."""
    report = None
    try:
        for item in items:
            match item:
                case PreviewProgress():
                    progress(item)
                case PreviewFinished():
                    report = item.report
    finally:
        clear()
    if report is None:
        raise Failure("the stream ended before its report", hint="see the controller's log")
    return report


def progress(item: PreviewProgress) -> None:
    """The last line of a terminal says how far it is."""
    if sys.stderr.isatty():
        text = f"{item.text}: {item.done} of {item.of}" if item.of else item.text
        click.echo(_CLEAR + output.printable(text).replace("\n", " ")[:79], nl=False, err=True)


def clear() -> None:
    """Take that line away."""
    if sys.stderr.isatty():
        click.echo(_CLEAR, nl=False, err=True)


def exit_code(report: PreviewReport, *, detailed: bool) -> int:
    """0 no change, 2 changes, 1 what must be mended; `detailed`: 4 where the head does not compile."""
    if report.broken:
        return COMPILE if detailed else FAILED
    if report.violations or failed_tests(report):
        return FAILED
    return PENDING if report.classes or report.unknown or report.drift else OK
