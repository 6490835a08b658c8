"""`saltern events`."""

from __future__ import annotations

import fnmatch
from pathlib import Path
from typing import Any

import click
import msgspec

from controller.cli import options, output
from controller.cli.client import Client
from controller.schema.events import EventView
from highstate.types import state_title


@click.command("events")
@click.argument("tag", required=False)
@click.option("-n", "--count", type=click.IntRange(1), help="End after so many.")
@click.option("--out", type=click.Choice(["text", "json"]), default="text", show_default=True, help="json: one a line.")
@options.config_dir
def events_command(tag: str | None, count: int | None, out: str, config_dir: Path) -> None:
    """Follow everything that happens until Ctrl-C; with TAG (a glob) only events of such tags."""
    seen = 0
    with Client(config_dir) as client:
        for item in client.stream("/events"):
            if tag is not None and not fnmatch.fnmatchcase(item.tag, tag):
                continue
            _show(item, out)
            seen += 1
            if seen == count:
                return


def _show(event: EventView, out: str) -> None:
    if out == "json":
        click.echo(msgspec.json.encode(event).decode())
        return
    about = " ".join(part for part in (event.minion, event.revision[:12]) if part)
    click.echo(f"{output.clock(event.time)}  {output.styled(output.printable(event.tag), bold=True)}  {about}".rstrip())
    for line in output.nested({name: _readable(value) for name, value in event.data.items()}, 4):
        click.echo(line)


def _readable(value: Any) -> Any:
    return state_title(value) if isinstance(value, str) else value
