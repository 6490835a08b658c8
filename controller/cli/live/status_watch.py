"""`saltern status --watch`: a screen on a terminal, elsewhere what changed, of JSON a document a line."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click
import msgspec

from controller.cli import output
from controller.cli.client import Client
from controller.cli.live.live_screen import is_live
from controller.cli.live.status_frame import status_frame
from controller.cli.live.watching import WatchedView, watch_lines, watch_screen
from controller.cli.status_rows import what_changed
from controller.schema.fleet.status import FleetStatusView
from controller.schema.minions import StatusView

_View = TypeVar("_View", bound=msgspec.Struct)


def watch_status(
    config_dir: Path,
    seconds: float,
    ask: Callable[[Client], StatusView],
    show: Callable[[StatusView], None],
    out: str,
    *,
    drawn: bool,
) -> None:
    """Follow minions until Ctrl-C or `q`.

    Args:
        config_dir: whose controller it is.
        seconds: the longest from one question to the next.
        ask: asks it.
        show: prints an answer once.
        out: `text`, `json`, `yaml`.
        drawn: whether it is a screen where there is a terminal.
    """
    watch = WatchedView(config_dir=config_dir, seconds=seconds, ask=ask)
    if drawn and out == "text" and is_live():
        watch_screen(watch, status_frame)
    else:
        watch_lines(watch, _told(show, out), what_changed)


def watch_groups(
    config_dir: Path,
    seconds: float,
    ask: Callable[[Client], FleetStatusView],
    show: Callable[[FleetStatusView], None],
    out: str,
) -> None:
    """Follow groups of minions until Ctrl-C; see `watch_status`."""
    watch_lines(
        WatchedView(config_dir=config_dir, seconds=seconds, ask=ask), _told(show, out), lambda view: view.groups
    )


def _told(show: Callable[[_View], None], out: str) -> Callable[[_View], None]:
    """Prints an answer so that it can be told from the one before."""

    def tell(view: _View) -> None:
        if out == "json":
            output.document(view, out, indent=0)
            return
        click.echo("---" if out == "yaml" else output.styled(output.clock(time.time()), bold=True))
        show(view)
        if out == "text":
            click.echo()

    return tell
