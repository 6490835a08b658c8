"""`saltern preview`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import Failure
from controller.cli.report_output import FORMS, Form, exit_code, form_of, save, show
from controller.schema.preview_stream import PreviewFinished, PreviewProgress
from controller.schema.reports import PreviewReport
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression

_CLEAR = "\r\x1b[K"


@click.command("preview")
@click.option("--base", required=True, help="Branch, tag or commit to compare with.")
@click.option("--head", required=True, help="Branch, tag or commit to be previewed.")
@click.option("--target", help="Only minions that this glob (or the kind given) matches.")
@options.targeting
@click.option("--merge", is_flag=True, help="Compare the head as merged into the base, as a forge merges it.")
@click.option(
    "--live/--no-live",
    default=None,
    help="Ask all connected minions that would change, or none.  [a few of each change]",
)
@click.option("--restricted", is_flag=True, help="As for a stranger: no Python of the tree, no secrets, no test run.")
@click.option("--out", type=click.Choice(FORMS), default="text", show_default=True)
@click.option(
    "--save", "saved", multiple=True, type=click.Path(path_type=Path), metavar="FILE",
    help="Write the report to a file too, in the form that its name ends with: .txt, .json, .yaml, .html, .md (a"
    " comment); repeatable.",
)  # fmt: skip
@click.option("--exit-code", "detailed", is_flag=True, help="Exit 4 in place of 1 when the head does not compile.")
@options.config_dir
def preview_command(saved: tuple[Path, ...], out: str, detailed: bool, config_dir: Path, **asked: Any) -> int:
    """What moving from one git ref to another would change. Changes nothing.

    Exits 0 when nothing would change, 2 when something would, 1 when something must be mended first.
    """
    for path in saved:
        form_of(path)
    report = _from_controller(_question(**asked), config_dir)
    return _end(report, cast(Form, out), saved, detailed=detailed)


def _end(report: PreviewReport, out: Form, saved: Sequence[Path], *, detailed: bool) -> int:
    for path in saved:
        save(report, path)
    show(report, out)
    return exit_code(report, detailed=detailed)


def _question(
    *, base: str, head: str, target: str | None, kind: str | None, live: bool | None, merge: bool, restricted: bool
) -> PreviewQuestion:
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs --target")
    return PreviewQuestion(
        base=base,
        head=head,
        target=None if target is None else TargetExpression(kind=kind or "glob", expression=target),  # type: ignore[arg-type]  # a choice of click's
        live="sample" if live is None else "all" if live else "none",
        merge=merge,
        restricted=restricted,
    )


def _from_controller(question: PreviewQuestion, config_dir: Path) -> PreviewReport:
    report = None
    with Client(config_dir) as client:
        try:
            for item in client.stream("/preview", question):
                match item:
                    case PreviewProgress():
                        _progress(item)
                    case PreviewFinished():
                        report = item.report
        finally:
            _clear()
    if report is None:
        raise Failure("the preview ended before its report", hint="see the controller's log")
    return report


def _progress(item: PreviewProgress) -> None:
    """The last line of a terminal says how far it is."""
    if sys.stderr.isatty():
        text = f"{item.text}: {item.done} of {item.of}" if item.of else item.text
        click.echo(_CLEAR + output.printable(text).replace("\n", " ")[:79], nl=False, err=True)


def _clear() -> None:
    if sys.stderr.isatty():
        click.echo(_CLEAR, nl=False, err=True)
