"""`saltern sync`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK, PENDING
from controller.cli.progress import progress_line
from controller.schema.requests import SyncQuestion
from controller.schema.runs import CallProgress, SyncReturn
from controller.schema.targets import TargetExpression

_BAD = ("failed", "error", "unreachable", "refused", "lost")
_WAITING = ("pending", "paused", "outside-window", "waits-for-rollout")
"""What is pending still is."""


@click.command("sync")
@click.argument("target", default="*", shell_complete=offers.minions)
@options.targeting
@click.option("--whole", is_flag=True, help="The whole highstate, not only what is pending.")
@click.option("--test", is_flag=True, help="Change nothing; say what would change.")
@click.option("-v", "--verbose", is_flag=True, help="Show all states, not only those that changed or failed.")
@options.out
@options.config_dir
def sync_command(
    target: str, kind: str | None, whole: bool, test: bool, verbose: bool, out: str, config_dir: Path
) -> int:
    """Apply what is pending now on the minions that TARGET (a glob) matches, all by default."""
    asked = TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's
    returns: list[SyncReturn] = []
    with Client(config_dir) as client, progress_line() as line:
        question = SyncQuestion(target=asked, whole=whole, test=test, progress=line.shown)
        for item in client.stream("/sync", question):
            if isinstance(item, CallProgress):
                line.update(item)
                continue
            returns.append(item)
            if out == "text":
                with line.aside(item.minion):
                    _show(item, verbose)
    if out != "text":
        output.documents_by_id({item.minion: item for item in returns}, out)
    if any(item.outcome in _BAD for item in returns):
        return FAILED
    return PENDING if any(item.outcome in _WAITING for item in returns) else OK


def _show(item: SyncReturn, verbose: bool) -> None:
    colour = output.COLOURS.get(item.outcome)
    click.echo(f"{item.minion}: {output.styled(item.outcome, fg=colour)}  {output.printable(item.summary)}".rstrip())
    for line in output.states(item.states, only_changes=not verbose):
        click.echo("  " + line)
