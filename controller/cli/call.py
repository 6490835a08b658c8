"""`saltern call`. Imports nothing but `minion.call`, because a person waits for its start."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options
from minion.call import OUTPUTTERS, Options, main
from minion.settings import LOG_LEVELS


@click.command("call")
@click.argument("function")
@click.argument("arguments", nargs=-1)
@click.option("--local", is_flag=True, help="Compile from file_roots on this machine; ask no controller.")
@click.option("--file-root", multiple=True, metavar="DIR", help="Folder of states, instead of file_roots.")
@click.option("--pillar-root", multiple=True, metavar="DIR", help="Folder of pillar, instead of pillar_roots.")
@click.option("--id", "minion_id", default="", help="Id of the minion, instead of the configured one.")
@click.option("--out", "--output", "out", type=click.Choice(OUTPUTTERS), help="Default: what suits the value.")
@click.option(
    "--state-output", type=click.Choice(["full", "terse", "changes"]), help="How much of each state is shown."
)
@click.option("-l", "--log-level", type=click.Choice(LOG_LEVELS), help="Of the log on stderr.")
@click.option("--retcode-passthrough", is_flag=True, help="Exit with the code of the command that was run.")
@options.config_dir
def call_command(
    function: str,
    arguments: tuple[str, ...],
    local: bool,
    file_root: tuple[str, ...],
    pillar_root: tuple[str, ...],
    minion_id: str,
    out: str | None,
    state_output: str | None,
    log_level: str | None,
    retcode_passthrough: bool,
    config_dir: Path,
) -> int:
    """Run FUNCTION on this machine.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    """
    return main(
        Options(
            fun=function,
            args=arguments,
            local=local,
            config_dir=config_dir,
            file_root=file_root,
            pillar_root=pillar_root,
            id=minion_id,
            out=out or "",
            state_output=state_output or "",
            log_level=log_level or "",
            retcode_passthrough=retcode_passthrough,
        )
    )
