"""`saltern reactions`: what reactors did."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.schema.events import EventView
from controller.schema.reactions import ReactionTrace, ReactionView


@click.group("reactions", no_args_is_help=True)
def reactions_command() -> None:
    """Look at what reactors did."""


@reactions_command.command("list")
@click.option("-n", "--limit", type=click.IntRange(1, 10_000), default=20, show_default=True, help="At most so many.")
@click.option("--before", default="", metavar="REACTION", help="Older than this one.")
@click.option("--minion", default="", shell_complete=offers.minions, help="Only answers to events about this minion.")
@options.out
@options.config_dir
def list_command(limit: int, before: str, minion: str, out: str, config_dir: Path) -> None:
    """List events that reactors answered, newest first."""
    with Client(config_dir) as client:
        views = client.get("/reactions", tuple[ReactionView, ...], limit=limit, before=before, minion=minion)
    if out != "text":
        output.document(views, out)
    elif views:
        heads = ("time", "reaction", "event", "minion", "outcome", "what")
        output.table(heads, [_row(view) for view in views])
    elif before or minion:
        about = f" about {minion}" if minion else ""
        output.remark(f"no reactor has answered an event{about}{f' before {before}' if before else ''}")
    else:
        output.remark("no reactor has answered an event yet; `saltern reactor list` shows those that there are")


@reactions_command.command("show")
@click.argument("reaction")
@options.out
@options.config_dir
def show_command(reaction: str, out: str, config_dir: Path) -> None:
    """Show REACTION with the event that it answered, what it did, and what followed."""
    with Client(config_dir) as client:
        found = client.get("/reaction", ReactionTrace, id=reaction)
    if out != "text":
        output.document(found, out)
        return
    view = found.reaction
    click.echo(output.styled(output.printable(f"{view.tag}  {view.outcome or 'not ended'}"), bold=True))
    lines: dict[str, Any] = {"reaction": view.id, "event": view.event}
    lines |= {"rule": view.rule} if view.rule else {"sls": list(view.sls)}
    lines |= {"reactions": [_readable(each) for each in view.reactions]} if view.reactions else {}
    lines |= {name: list(texts) for name in ("errors", "warnings") if (texts := getattr(view, name))}
    for line in output.nested(lines, 4):
        click.echo(line)
    click.echo("    steps:")
    for step in found.steps:
        click.echo(f"        {output.clock(step.time)}  {output.printable(step.tag)}{_result(step)}")


def _readable(reaction: dict[str, Any]) -> dict[str, Any]:
    """Without empty parts; the jid of a runner has no minion."""
    jobs = reaction.get("jobs") or {}
    shown = {**reaction, "jobs": [" ".join((minion, run)).strip() for minion, run in jobs.items()]}
    return {name: value for name, value in shown.items() if value}


def _result(step: EventView) -> str:
    found = step.data.get("outcome") or {True: "ok", False: "failed"}.get(step.data.get("success", ""), "")
    return f"  {output.printable(str(found))}" if found else ""


def _row(view: ReactionView) -> tuple[str, ...]:
    when = output.clock(view.time)[5:] if sys.stdout.isatty() else output.clock(view.time)
    what = ", ".join(str(each.get("fun", "")) for each in view.reactions) or next(iter(view.errors), "")
    return when, view.id, view.tag, view.minion, view.outcome, what.splitlines()[0] if what else ""
