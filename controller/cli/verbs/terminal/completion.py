"""`saltern completion`: the script by which a shell completes verbs, options, minions and functions."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from controller.cli.failure import Failure

VARIABLE = "_SALTERN_COMPLETE"
"""By which the script asks the program."""


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion_command(shell: str) -> None:
    """Print what SHELL is to read so that it completes `saltern`: eval "$(saltern completion bash)"."""
    made = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    if made is None:
        raise Failure(f"there is no completion for {shell}")
    click.echo(made(root, {}, "saltern", VARIABLE).source(), nl=False)
