"""`saltern pause`, `saltern resume` and `saltern confirm`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import offers, options, output
from controller.cli.client import Client
from controller.schema.requests import TargetQuestion
from controller.schema.targets import TargetExpression


@click.command("pause")
@click.argument("target", shell_complete=offers.minions)
@options.targeting
@options.out
@options.config_dir
def pause_command(target: str, kind: str | None, out: str, config_dir: Path) -> None:
    """Apply nothing more on the minions that TARGET (a glob) matches, until `saltern resume`."""
    _change("/pause", "paused", target, kind, out, config_dir)


@click.command("resume")
@click.argument("target", shell_complete=offers.minions)
@options.targeting
@options.out
@options.config_dir
def resume_command(target: str, kind: str | None, out: str, config_dir: Path) -> None:
    """Apply pushes again on the minions that TARGET (a glob) matches."""
    _change("/resume", "resumed", target, kind, out, config_dir)


@click.command("confirm")
@click.argument("target", shell_complete=offers.minions)
@options.targeting
@options.out
@options.config_dir
def confirm_command(target: str, kind: str | None, out: str, config_dir: Path) -> None:
    """Keep what `apply: confirm` has applied on the minions that TARGET (a glob) matches."""
    _change("/confirm", "confirmed", target, kind, out, config_dir)


def _change(path: str, done: str, target: str, kind: str | None, out: str, config_dir: Path) -> None:
    question = TargetQuestion(target=TargetExpression(kind=kind or "glob", expression=target))  # type: ignore[arg-type]  # a choice of click's
    with Client(config_dir) as client:
        changed = client.post(path, question, tuple[str, ...])
    if out != "text":
        output.document({"minions": changed}, out)
        return
    if not changed:
        output.remark(f"{done}: none of these minions waits for that")
    for minion in changed:
        click.echo(f"{done} {minion}")
