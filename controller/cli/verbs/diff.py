"""`saltern diff`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import COMPILE, OK, PENDING
from controller.schema.plans import MinionDiff


@click.command("diff")
@click.argument("minion", required=False)
@click.option("--exit-code", is_flag=True, help="Exit 2 when something is pending or drifted.")
@options.out
@options.config_dir
def diff_command(minion: str | None, exit_code: bool, out: str, config_dir: Path) -> int:
    """What is pending on MINION and what drifted there; without MINION: on all that have any."""
    with Client(config_dir) as client:
        diffs = client.get("/diff", tuple[MinionDiff, ...], minion=minion)
    if out != "text":
        output.document(diffs, out)
    else:
        for diff in diffs:
            _show(diff)
        if not any(diff.text or diff.drift or diff.errors or diff.warnings for diff in diffs):
            output.remark("nothing is pending, nothing drifted")
    if exit_code and any(diff.errors for diff in diffs):
        return COMPILE
    return PENDING if exit_code and any(diff.text or diff.changes or diff.drift for diff in diffs) else OK


def _show(diff: MinionDiff) -> None:
    if not (diff.text or diff.drift or diff.errors or diff.warnings):
        return
    revisions = f" {diff.base or 'nothing'} -> {diff.head}" if diff.head != diff.base else ""
    click.echo(output.styled(f"{diff.minion}:{revisions}", bold=True))
    for error in diff.errors:
        click.echo(output.styled(_indented(error), fg="red"))
    for warning in diff.warnings:
        click.echo(output.styled(_indented(f"warning: {warning}"), fg="yellow"))
    if diff.text:
        click.echo(coloured_plan(_indented(diff.text)))
    if diff.drift:
        click.echo(output.styled(f"  drifted, found {output.ago(diff.drift_at) or 'lately'}:", fg="yellow"))
    for drift in diff.drift:
        click.echo(f"    {output.printable(output.state_title(drift.key))}")
        for line in output.printable(drift.comment).splitlines():
            click.echo(f"      {line}")
        for line in output.nested(drift.changes, 8) if drift.changes else ():
            click.echo(line)
    if diff.heal:
        click.echo(f"  {output.printable(diff.heal)}")


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
