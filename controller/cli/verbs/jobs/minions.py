"""`saltern minions`: which minions there are, and which of them are connected."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import OK
from controller.schema.minions import MinionPresence


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
        relayed = any(view.relay for view in views)
        heads = ("minion", "state", "seen", "os", "address", *(["relay"] if relayed else []), "problems")
        output.table(heads, [_row(view, relayed=relayed) for view in views])
    else:
        output.remark("no minion is " + ("connected" if up else "missing" if down else "accepted: `saltern key list`"))
    return OK


def _row(view: MinionPresence, *, relayed: bool) -> tuple[str, ...]:
    seen = "now" if view.connected else output.ago(view.last_seen) or "never"
    system = f"{view.os} {view.os_release}".strip()
    relay = (view.relay,) if relayed else ()
    state = "up" if view.connected else "down"
    return (view.minion, state, seen, system, view.address, *relay, "; ".join(view.problems))
