"""`saltern top`: what the fleet is doing now."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.live.live_screen import is_live
from controller.cli.live.top_frame import TopFrame
from controller.cli.live.watching import WatchedView, watch_screen
from controller.schema.fleet.activity import ActivityView

_RATE_SECONDS = 1.0
"""Between the two answers by which `--once` tells how many events there are a second."""
_NO_END = 10_000
"""Lines of what is printed once."""


@click.command("top")
@click.option(
    "-d",
    "--delay",
    type=click.FloatRange(0.5, 86_400),
    default=2.0,
    show_default=True,
    help="Seconds until it is asked again when nothing happens.",
)
@click.option("-n", "--limit", type=click.IntRange(1, 1000), default=100, show_default=True, help="Most runs to show.")
@click.option("--once", is_flag=True, help="Print it once and end, as json and yaml do; for scripts.")
@options.out
@options.config_dir
def top_command(delay: float, limit: int, once: bool, out: str, config_dir: Path) -> None:
    """What the fleet is doing now: runs, compiles, rollouts, and which minions are slow. `q` ends it."""

    def ask(client: Client) -> ActivityView:
        return client.get("/activity", ActivityView, limit=limit)

    if out != "text":
        with Client(config_dir) as client:
            output.document(ask(client), out)
        return
    if not once and not is_live():
        raise click.UsageError("this is drawn on a terminal; here --once, or --out json, prints it once")
    frame = TopFrame()
    if not once:
        watch_screen(WatchedView(config_dir=config_dir, seconds=delay, ask=ask), frame)
        return
    columns = shutil.get_terminal_size((120, 24)).columns
    with Client(config_dir) as client:
        frame(ask(client), columns, _NO_END)
        time.sleep(_RATE_SECONDS)
        click.echo("\n".join(frame(ask(client), columns, _NO_END)))
