"""`saltern pulls`."""

from __future__ import annotations

import time
from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import Failure
from controller.schema.pulls import HeldHead, PullView
from controller.schema.requests import UnapplyQuestion
from controller.schema.targets import TargetExpression
from options.near_names import did_you_mean

_NAMED = 5
"""Minions that are named."""


@click.command("pulls")
@click.argument("names", metavar="[FORGE|PROJECT]...", nargs=-1)
@options.out
@options.config_dir
def pulls_command(names: tuple[str, ...], out: str, config_dir: Path) -> None:
    """The open pull requests, with their previews and what they wait for; all without names of forges or projects."""
    with Client(config_dir) as client:
        views = wanted(client.get("/pulls", tuple[PullView, ...]), names)
    if out != "text":
        output.document(views, out)
        return
    # The last ones get lines of their own where the terminal is narrow.
    heads = ("Pull request", "Head", "Check", "Changed", "Broken", "Changes", "Previewed", "Base", "Title", "Waits for")
    output.table(heads, [_row(view) for view in views])
    if not views:
        output.remark("no pull request is open that was looked at; `saltern forge list` shows what is watched")
    for view in views:
        for held in view.held:
            click.echo(output.printable(_held(view, held)))


@click.command("unapply")
@click.argument("pull", metavar="[FORGE:]PROJECT#NUMBER")
@click.option("--target", help="Only the minions that this glob (or the kind given) matches.")
@options.targeting
@options.out
@options.config_dir
def unapply_command(pull: str, target: str | None, kind: str | None, out: str, config_dir: Path) -> None:
    """Have the minions that hold a pull request go back to what is live, as the command /saltern unapply does."""
    if kind is not None and target is None:
        raise click.UsageError(f"a kind of target ({kind}) needs --target")
    meant = None if target is None else TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's
    with Client(config_dir) as client:
        released = client.post("/unapply", UnapplyQuestion(pull=pull, target=meant), tuple[str, ...])
    if out != "text":
        output.document({"minions": released}, out)
        return
    for minion in released:
        click.echo(f"released {minion}")


def _held(view: PullView, held: HeldHead) -> str:
    shown = ", ".join(held.minions[:_NAMED])
    more = f" and {len(held.minions) - _NAMED} more" if len(held.minions) > _NAMED else ""
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(held.until))
    name = f"{view.project}#{view.number}"
    return f"{name} at {held.head[:8]}, applied by {held.user}, is held until {until}\n    by {shown}{more}"


def wanted(views: tuple[PullView, ...], names: tuple[str, ...]) -> tuple[PullView, ...]:
    """Those of these forges or projects; all without names. Failure for a name that has none."""
    known = {name for each in views for name in (each.forge, each.project)}
    for name in names:
        if name not in known:
            hint = did_you_mean(name, known) or "`saltern forge list` shows what is watched"
            raise Failure(f"{name!r} has no open pull request", hint=hint)
    return tuple(each for each in views if not names or {each.forge, each.project} & {*names})


def _row(view: PullView) -> tuple[str, ...]:
    made = view.previewed_at is not None and view.previewed_head == view.head
    return (
        f"{view.project}#{view.number}",
        view.head[:8],
        view.check,
        f"{view.changed}/{view.minions}" if made else "",
        str(view.broken) if made else "",
        str(view.classes) if made else "",
        output.ago(view.previewed_at) if made else "",
        f"{view.base_branch}@{view.base[:8]}" if view.base else view.base_branch,
        view.title,
        view.waiting_for,
    )
