"""`saltern why`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.step_output import show_step
from controller.schema.events import WhyState, WhyView
from highstate.types import state_title

_SEEN = {
    "clean": "as it should be",
    "drifted": "drifted",
    "moved": "found different after a push",
    "again": "put right, and it would change something again at once",
}


@click.command("why")
@click.argument("minion", shell_complete=offers.minions)
@click.argument("state", required=False)
@options.out
@options.config_dir
def why_command(minion: str, state: str | None, out: str, config_dir: Path) -> None:
    """Why MINION was compiled or ran last: what was pushed or asked for, and what came of it.

    With STATE, an ID or a name (a glob): why that state drifts, since when, and who changed it as far as the
    machine tells.
    """
    with Client(config_dir) as client:
        view = client.get("/why", WhyView, minion=minion, **({} if state is None else {"state": state}))
    if out != "text":
        output.document(view, out)
        return
    for step in view.steps if state is None else ():
        show_step(step)
    for one in view.states:
        _show_state(one)
    for line in output.unnamed(view.unnamed):
        click.echo(line)
    if state is not None and not view.states and not view.unnamed:
        output.remark(f"no state {state} of {minion} drifted in the last week, and nothing of it is ignored")
    if state is None and not view.steps:
        output.remark("nothing was compiled or run for it, or it is too long ago")


def _show_state(one: WhyState) -> None:
    click.echo(f"{output.printable(state_title(one.key))}: {one.drift_class or 'nothing drifts now'}")
    for at, what in one.seen:
        click.echo(f"  {output.clock(at)}  {_SEEN.get(what, what)}")
    for path, at in one.evidence.get("changed", {}).items():
        click.echo(f"  {output.printable(path)} was changed {output.clock(at)}")
    for each in one.evidence.get("audit", ()):
        click.echo(f"  audit: {output.clock(each['at'])} by user {_told(each, 'user')} with {_told(each, 'program')}")
    for each in one.evidence.get("packages", ()):
        click.echo(f"  package log: {output.clock(each['at'])} {_told(each, 'verb')} {_told(each, 'name')}")
    for each in one.evidence.get("sessions", ()):
        click.echo(f"  logged in then: {_told(each, 'user')} from {_told(each, 'host') or 'here'}")
    for title, value in (("differs", one.changes), ("ignored", one.ignored)):
        if value:
            click.echo("\n".join([f"  {title}:", *output.nested(value, 4)]))


def _told(entry: Mapping[str, Any], name: str) -> str:
    return output.printable(str(entry.get(name, "")))
