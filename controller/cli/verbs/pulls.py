"""`saltern pulls`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import Failure
from controller.schema.pulls import PullView
from options.near_names import did_you_mean


@click.command("pulls")
@click.argument("names", metavar="[FORGE|PROJECT]...", nargs=-1)
@options.out
@options.config_dir
def pulls_command(names: tuple[str, ...], out: str, config_dir: Path) -> None:
    """The open pull requests, with their previews and what they wait for; all without names of forges or projects."""
    with Client(config_dir) as client:
        views = _wanted(client.get("/pulls", tuple[PullView, ...]), names)
    if out != "text":
        output.document(views, out)
        return
    # The last ones get lines of their own where the terminal is narrow.
    heads = ("Pull request", "Head", "Check", "Changed", "Broken", "Changes", "Previewed", "Base", "Title", "Waits for")
    output.table(heads, [_row(view) for view in views])
    if not views:
        output.remark("no pull request is open that was looked at; `saltern forge list` shows what is watched")


def _wanted(views: tuple[PullView, ...], names: tuple[str, ...]) -> tuple[PullView, ...]:
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
