"""`saltern call`. Imports nothing but `minion.call`, because a person waits for its start."""

from __future__ import annotations

from pathlib import Path

import click

from controller.cli import options
from minion.call import OUTPUTTERS, Options, main
from minion.output_highstate import STATE_OUTPUTS
from minion.settings import LOG_LEVELS


@click.command("call")
@click.argument("function", default="")
@click.argument("arguments", nargs=-1)
@click.option("--local", is_flag=True, help="Compile from file_roots on this machine; ask no controller.")
@click.option("--file-root", multiple=True, metavar="DIR", help="Folder of states, instead of file_roots.")
@click.option("--pillar-root", multiple=True, metavar="DIR", help="Folder of pillar, instead of pillar_roots.")
@click.option("--id", "minion_id", default="", help="Id of the minion, instead of the configured one.")
@click.option("--out", "--output", "out", type=click.Choice(OUTPUTTERS), help="Default: what suits the value.")
@click.option("--out-file", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write there.")
@click.option("--out-file-append", "--output-file-append", is_flag=True, help="Write to the end of that file.")
@click.option("--out-indent", "--output-indent", type=int, default=4, help="Of JSON; negative: all in one line.")
@click.option("--force-color/--no-color", "--force-colour/--no-colour", "color", default=None, help="Colours, or not.")
@click.option(
    "--state-output", "--state_output", type=click.Choice(STATE_OUTPUTS), help="How much of each state is shown."
)
@click.option("--state-verbose/--no-state-verbose", default=None, help="Show states that had nothing to do, or not.")
@click.option("-g", "--grains", is_flag=True, help="Show the grains: the same as FUNCTION grains.items.")
@click.option(
    "-d", "--doc", "--documentation", is_flag=True, help="Show what FUNCTION, or all of a module, takes and does."
)
@click.option("--profile", is_flag=True, help="Show where the time of a run of states went.")
@click.option("-l", "--log-level", type=click.Choice(LOG_LEVELS), help="Of the log on stderr.")
@click.option("--return", "returners", default="", metavar="NAMES", help="Returners that get the value as well.")
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
    out_file: Path | None,
    out_file_append: bool,
    out_indent: int,
    color: bool | None,
    state_output: str | None,
    state_verbose: bool | None,
    grains: bool,
    doc: bool,
    profile: bool,
    log_level: str | None,
    returners: str,
    retcode_passthrough: bool,
    config_dir: Path,
) -> int:
    """Run FUNCTION on this machine.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    """
    if grains:
        function, arguments = "grains.items", ()
    elif doc:
        function, arguments = "sys.doc", tuple(word for word in (function, *arguments) if word)
    elif not function:
        raise click.UsageError("Missing argument 'FUNCTION'.")
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
            out_file=out_file,
            out_append=out_file_append,
            out_indent=out_indent if out_indent >= 0 else None,
            color=color,
            state_output=state_output or "",
            state_verbose=state_verbose,
            profile=profile,
            log_level=log_level or "",
            retcode_passthrough=retcode_passthrough,
            returners=returners,
        )
    )
