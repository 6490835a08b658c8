"""`saltern minion`. Imports only what the agent imports itself, for its memory is that of the agent."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options
from controller.cli.verbs.setup.joining import join_command


@click.group("minion", invoke_without_command=True)
@click.option("-l", "--log-level", help="Instead of the configuration's log_level.")
@options.config_dir
@click.pass_context
def minion_command(ctx: click.Context, /, log_level: str | None, config_dir: Path) -> int | None:
    """Run the agent of this machine until it is told to stop (Ctrl-C, SIGTERM); `join` sets it up."""
    if ctx.invoked_subcommand is not None:
        ctx.default_map = {"join": {"config_dir": config_dir}}
        return None
    from minion.agent import agent

    return agent.main(config_dir, log_level)


minion_command.add_command(join_command)
