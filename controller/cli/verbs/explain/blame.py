"""`saltern blame`."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.schema.blame import BlamePlace, BlameState, BlameView
from highstate.types import state_title

_LONGEST = 60
"""Characters of a value."""


@click.command("blame")
@click.argument("minion", shell_complete=offers.minions)
@click.argument("state")
@options.out
@options.config_dir
def blame_command(minion: str, state: str, out: str, config_dir: Path) -> None:
    """Where each value of STATE on MINION is written, and who changed that line last.

    STATE is an ID or a name (a glob). For a value that is made of pillar, also the keys of it and their lines.
    """
    with Client(config_dir) as client:
        view = client.get("/blame", BlameView, minion=minion, state=state)
    if out != "text":
        output.document(view, out)
        return
    for one in view.states:
        _show(one)
    if view.more:
        output.remark(f"{view.more} more states are meant; give more of the name")


def _show(state: BlameState) -> None:
    click.echo(output.styled(f"{output.printable(state_title(state.key))} of {output.printable(state.sls)}", bold=True))
    for one in state.values:
        click.echo(f"  {output.printable(one.name)}: {_short(one.value)}")
        if one.place is not None:
            click.echo(f"    {_place(one.place)}")
        for key in one.pillar:
            click.echo(f"    pillar {output.printable(key.path)}: {_short(key.value)}")
            for place in key.places:
                click.echo(f"      {_place(place)}")


def _place(place: BlamePlace) -> str:
    where = f"{place.file}:{place.line}"
    if place.commit is None:
        return output.printable(where)
    one = place.commit
    day = time.strftime("%Y-%m-%d", time.gmtime(one.at))
    return output.printable(f"{where}  {one.commit[:8]} {day} {one.author}: {one.subject}")


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)
    line = text.strip().splitlines()[0] if text.strip() else ""
    cut = len(line) > _LONGEST or line != text.strip()
    return output.printable(line[:_LONGEST] + ("..." if cut else ""))
