"""`saltern remote`."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.views import RemoteStatus


@click.group("remote")
def remote_command() -> None:
    """The git remotes."""


@remote_command.command("list")
@options.out
@options.config_dir
def list_remotes(out: str, config_dir: Path) -> None:
    """All remotes as the controller last saw them."""
    with Client(config_dir) as client:
        remotes = client.get("/remotes", tuple[RemoteStatus, ...])
    if out != "text":
        output.document(remotes, out)
        return
    heads = ("Remote", "Url", "Branch", "Commit", "Fetched", "Subject", "Error")
    output.table(heads, [_row(remote) for remote in remotes])
    if not remotes:
        output.remark("no remote is configured; see gitfs_remotes in the controller's configuration")


def _row(remote: RemoteStatus) -> tuple[str, ...]:
    fetched = output.ago(remote.last_fetch)
    return (remote.name, remote.url, remote.branch, remote.commit[:12], fetched, remote.subject, remote.error)
