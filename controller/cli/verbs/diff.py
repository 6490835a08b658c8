"""`saltern diff`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import COMPILE, OK, PENDING
from controller.report.escape import code_span, fenced
from controller.schema.plans import DriftView, MinionDiff
from highstate.types import state_title

_GIVEN = "templates of these states are given other values"
_MOST_CODE = 300
"""Characters of a name in a comment."""


@click.command("diff")
@click.argument("minion", required=False)
@click.option("--exit-code", is_flag=True, help="Exit 2 when something is pending or drifted.")
@click.option("--out", type=click.Choice(["text", "markdown", "json", "yaml"]), default="text", show_default=True)
@options.config_dir
def diff_command(minion: str | None, exit_code: bool, out: str, config_dir: Path) -> int:
    """What is pending on MINION and what drifted there; without MINION: on all that have any."""
    with Client(config_dir) as client:
        diffs = client.get("/diff", tuple[MinionDiff, ...], minion=minion)
    if out == "markdown":
        click.echo(markdown(diffs))
    elif out != "text":
        output.document(diffs, out)
    else:
        for diff in diffs:
            _show(diff)
        if not any(map(_tells, diffs)):
            output.remark("nothing is pending, nothing drifted")
    if exit_code and any(diff.errors for diff in diffs):
        return COMPILE
    return PENDING if exit_code and any(diff.text or diff.changes or diff.drift for diff in diffs) else OK


def _show(diff: MinionDiff) -> None:
    if not _tells(diff):
        return
    revisions = f" {diff.base or 'nothing'} -> {diff.head}" if diff.head != diff.base else ""
    click.echo(output.styled(f"{diff.minion}:{revisions}", bold=True))
    for error in diff.errors:
        click.echo(output.styled(_indented(error), fg="red"))
    for warning in diff.warnings:
        click.echo(output.styled(_indented(f"warning: {warning}"), fg="yellow"))
    if diff.text:
        click.echo(coloured_plan(_indented(diff.text)))
    if diff.pillar:
        click.echo(f"  {_GIVEN}:")
        click.echo(_indented(_indented(diff.pillar)))
    if diff.drift:
        click.echo(output.styled(f"  drifted, found {output.ago(diff.drift_at) or 'lately'}:", fg="yellow"))
    for drift in diff.drift:
        named = f" ({drift.drift_class})" if drift.drift_class else ""
        click.echo(f"    {output.printable(state_title(drift.key))}{named}")
        for line in _drift_lines(drift, 6):
            click.echo(line)
    if diff.heal:
        click.echo(f"  {output.printable(diff.heal)}")
    for line in output.unnamed(diff.unnamed):
        click.echo(f"  {line}")
    if diff.ignored:
        click.echo("  ignored, as saltern.yaml says:")
    for one in diff.ignored:
        click.echo(f"    {output.printable(state_title(one.key))}")
        for line in output.nested(one.ignored, 8):
            click.echo(line)


def markdown(diffs: Sequence[MinionDiff]) -> str:
    """What is pending and what drifted, for a comment or a chat."""
    lines = []
    for diff in diffs:
        if not _tells(diff):
            continue
        lines += [f"### {_code(diff.minion)}: {_code(diff.base or 'nothing')} → {_code(diff.head)}", ""]
        lines += _fenced("\n".join(diff.errors)) if diff.errors else []
        lines += ["Warnings:", "", *_fenced("\n".join(diff.warnings))] if diff.warnings else []
        lines += _fenced(diff.text, "diff") if diff.text else []
        lines += [f"{_GIVEN.capitalize()}:", "", *_fenced(diff.pillar)] if diff.pillar else []
        if diff.drift:
            drifted = [line for one in diff.drift for line in (state_title(one.key), *_drift_lines(one, 4))]
            lines += [f"Drifted, {_code(diff.heal)}:" if diff.heal else "Drifted:", "", *_fenced("\n".join(drifted))]
        if diff.ignored:
            shown = [line for one in diff.ignored for line in (state_title(one.key), *output.nested(one.ignored, 4))]
            lines += ["Ignored, as saltern.yaml says:", "", *_fenced("\n".join(shown))]
        if diff.unnamed:
            lines += ["No longer named by any state:", "", *_fenced("\n".join(output.unnamed(diff.unnamed)))]
    return "\n".join(lines).rstrip() or "Nothing is pending, nothing drifted."


def _code(text: str) -> str:
    return code_span(text, _MOST_CODE)


def _fenced(text: str, language: str = "") -> list[str]:
    return [*fenced(text, language).split("\n"), ""]


def _drift_lines(drift: DriftView, indent: int) -> list[str]:
    comment = [" " * indent + line for line in output.printable(drift.comment).splitlines()]
    return [*comment, *(output.nested(drift.changes, indent + 2) if drift.changes else ())]


def _tells(diff: MinionDiff) -> bool:
    return bool(diff.text or diff.drift or diff.ignored or diff.unnamed or diff.errors or diff.warnings)


def coloured_plan(text: str) -> str:
    """A plan's lines in the colours of a diff."""
    colours = {"+": "green", "-": "red", "~": "yellow"}
    lines = []
    for line in text.splitlines():
        colour = colours.get(line.lstrip()[:1])
        lines.append(output.styled(line, fg=colour) if colour else line)
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join("  " + line for line in output.printable(text.rstrip("\n")).splitlines())
