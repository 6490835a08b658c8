"""`saltern diff`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import COMPILE, FAILED, OK, PENDING
from controller.cli.report_output import Form, exit_code, last_report, show
from controller.report.escape import code_span, fenced
from controller.schema.plans import DriftView, MinionDiff
from controller.schema.requests import PreviewQuestion
from controller.schema.targets import TargetExpression
from highstate.types import state_title

_GIVEN = "templates of these states are given other values"
_MOST_CODE = 300
"""Characters of a name in a comment."""


@click.command("diff")
@click.argument("minions", metavar="[MINION]...", nargs=-1, shell_complete=offers.minions)
@click.option("--rev", metavar="A..B", help="From one revision to another; an empty side is what is live.")
@click.option("--target", help="Only minions that this glob (or the kind given) matches.")
@options.targeting
@click.option("--exit-code", "detailed", is_flag=True, help="Exit 4 in place of 1 when something does not compile.")
@click.option("--out", type=click.Choice(["text", "markdown", "json", "yaml"]), default="text", show_default=True)
@options.config_dir
def diff_command(
    minions: tuple[str, ...],
    rev: str | None,
    target: str | None,
    kind: str | None,
    detailed: bool,
    out: str,
    config_dir: Path,
) -> int:
    """What is pending on MINION and what drifted there; of many minions, or all, by classes of the same change.

    With --rev what two revisions mean for them: commits, branches, tags, or what history shows. Exits 0 when there is
    nothing, 2 when there is something, 1 when something does not compile.
    """
    if rev is None and target is None and len(minions) == 1:
        return _of_one(minions[0], out, config_dir, detailed=detailed)
    meant = _meant(minions, target, kind)
    with Client(config_dir) as client:
        if rev is None:
            asked = meant or TargetExpression()
            query: dict[str, Any] = {"expression": asked.expression, "kind": asked.kind}
            report = last_report(client.stream("/diff/fleet", **query))
        else:
            base, head = _sides(rev)
            question = PreviewQuestion(base=base, head=head, target=meant, live="none", revisions=True)
            report = last_report(client.stream("/preview", question))
    if minions and len(set(minions)) > report.minions:
        output.remark(f"{len(set(minions)) - report.minions} of the minions that are named are not known here")
    show(report, cast(Form, out))
    return exit_code(report, detailed=detailed)


def _sides(rev: str) -> tuple[str, str]:
    """`A..B`, `A..` and `..B`."""
    base, dots, head = rev.partition("..")
    if not dots or head.startswith(".") or not (base or head):
        raise click.UsageError(f"--rev {rev}: write A..B, A.. (to what is live) or ..B (from what is live)")
    return base, head


def _meant(minions: tuple[str, ...], target: str | None, kind: str | None) -> TargetExpression | None:
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs --target")
    if minions and target is not None:
        raise click.UsageError("MINION and --target: say one of them")
    if minions:
        return TargetExpression(kind="list", expression=",".join(minions))
    return None if target is None else TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's


def _of_one(minion: str, out: str, config_dir: Path, *, detailed: bool) -> int:
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
    if any(diff.errors for diff in diffs):
        return COMPILE if detailed else FAILED
    return PENDING if any(diff.text or diff.changes or diff.drift for diff in diffs) else OK


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
        found = f"  drifted, found {output.ago(diff.drift_at) or 'lately'}{_by_salt(diff)}:"
        click.echo(output.styled(output.printable(found), fg="yellow"))
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


def _by_salt(diff: MinionDiff) -> str:
    """Of a stock minion: by what its drift is known."""
    return f", as test=True of {diff.agent} says" if diff.agent else ""


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
            healed = f", {_code(diff.heal)}" if diff.heal else ""
            by_salt = f", as test=True of {_code(diff.agent)} says" if diff.agent else ""
            lines += [f"Drifted{by_salt}{healed}:", "", *_fenced("\n".join(drifted))]
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
