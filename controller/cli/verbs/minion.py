"""`saltern minion`. Imports only what the agent imports itself, for its memory is that of the agent."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options


@click.command("minion")
@click.option("-l", "--log-level", help="Instead of the configuration's log_level.")
@options.config_dir
def minion_command(log_level: str | None, config_dir: Path) -> int:
    """Run the agent of this machine until it is told to stop (Ctrl-C, SIGTERM)."""
    from minion.agent import agent

    return agent.main(config_dir, log_level)
