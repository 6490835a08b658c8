"""`saltern workers`: where minions are compiled."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options
from controller.cli.client import Client
from controller.cli.failure import OK
from controller.cli.workers_output import show_workers
from controller.schema.minions import ExecutorStatus


@click.command("workers")
@options.out
@options.config_dir
def workers_command(out: str, config_dir: Path) -> int:
    """Whether the cluster of `compile_executor` is reached, its workers, and how many minions were compiled where."""
    with Client(config_dir) as client:
        show_workers(client.get("/workers", ExecutorStatus), out)
    return OK
