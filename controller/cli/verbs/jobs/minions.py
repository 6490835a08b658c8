"""`saltern minions`: which minions there are, and which of them are connected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import OK
from controller.schema.minions import MinionPresence, stock_agent


@click.command("minions")
@click.argument("target", required=False, shell_complete=offers.minions)
@options.targeting
@click.option("--up", is_flag=True, help="Only those that are connected.")
@click.option("--down", is_flag=True, help="Only those that are not.")
@options.out
@options.config_dir
def minions_command(target: str | None, kind: str | None, up: bool, down: bool, out: str, config_dir: Path) -> int:
    """List minions with accepted keys, or those that TARGET (a glob) matches: who is connected, who was seen when."""
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs a TARGET")
    if up and down:
        raise click.UsageError("--up and --down cannot go together: without either all are listed")
    query = {} if target is None else {"expression": target, "kind": kind}
    with Client(config_dir) as client:
        views = client.get("/minions/presence", tuple[MinionPresence, ...], **query)
    views = tuple(view for view in views if not (up or down) or view.connected is up)
    if out != "text":
        output.document(views, out)
    elif views:
        more = [name for name, value in _SOMETIMES.items() if any(value(view) for view in views)]
        heads = ("minion", "state", "seen", "os", "address", *more, "problems")
        output.table(heads, [_row(view, more) for view in views])
    else:
        output.remark("no minion is " + ("connected" if up else "missing" if down else "accepted: `saltern key list`"))
    return OK


_SOMETIMES: Mapping[str, Callable[[MinionPresence], str]] = {
    "relay": lambda view: view.relay,
    "agent": lambda view: stock_agent(view.agent),
    "mode": lambda view: "Shadow" if view.shadow else "",
}
"""Columns that are there where some minion has something in them."""


def _row(view: MinionPresence, more: Sequence[str]) -> tuple[str, ...]:
    seen = "now" if view.connected else output.ago(view.last_seen) or "never"
    system = f"{view.os} {view.os_release}".strip()
    state = "up" if view.connected else "down"
    return (
        view.minion,
        state,
        seen,
        system,
        view.address,
        *(_SOMETIMES[name](view) for name in more),
        "; ".join(view.problems),
    )
