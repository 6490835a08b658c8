"""`saltern call`. Imports nothing but `minion.call`, because a person waits for its start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import click

from controller.cli import options
from controller.cli.config_folder import check_folder
from controller.cli.verbs.terminal import function_offers
from minion.call.call import main
from minion.call.options import OUTPUTTERS, STATE_OUTPUTS, CallOptions
from minion.config.names import LOG_LEVELS

_BOOLS = frozenset(("true", "false", "yes", "no", "on", "off", "1", "0"))
_FOLDERS = click.Path(file_okay=False)


class _Call(click.Command):
    """Takes `--state-verbose` with a value, as Salt has it, and without."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Give the option its value where it has none."""
        for place, word in enumerate(args):
            value = args[place + 1 : place + 2]
            if word in ("--state-verbose", "--state_verbose") and (not value or value[0].lower() not in _BOOLS):
                args = [*args[:place], f"{word}=True", *args[place + 1 :]]
            if word == "--":
                break
        return super().parse_args(ctx, args)


def _words(ctx: click.Context, option: click.Parameter, given: Sequence[str]) -> tuple[str, ...]:
    """Names with commas, of an option that may be repeated."""
    return tuple(name for one in given for name in one.split(",") if name)


def _said_only(names: Sequence[str], **more: Any) -> Callable[[Any], Any]:
    """An option of salt-call's that asks for nothing here."""
    return click.option(*names, expose_value=False, help="Taken as salt-call takes it; there is nothing to do.", **more)


@click.command("call", cls=_Call)
@click.argument("fun", metavar="FUNCTION", default="", shell_complete=function_offers.functions)
@click.argument("args", metavar="ARGUMENTS", nargs=-1)
@click.option("--local", is_flag=True, help="Compile from file_roots on this machine; ask no controller.")
@click.option("--file-root", multiple=True, metavar="DIR", help="Folder of states, instead of file_roots.")
@click.option("--pillar-root", multiple=True, metavar="DIR", help="Folder of pillar, instead of pillar_roots.")
@click.option("-m", "--module-dirs", multiple=True, metavar="DIR", help="Folder with folders of modules by their kind.")
@click.option("--states-dir", multiple=True, metavar="DIR", help="Folder with state modules.")
@click.option("--cachedir", type=_FOLDERS, default="", help="Cache directory, instead of the configured one.")
@click.option("--id", default="", help="Id of the minion, instead of the configured one.")
@click.option("--no-parse", multiple=True, callback=_words, metavar="NAMES", help="Arguments that stay text.")
@click.option("--skip-grains", is_flag=True, help="Collect no grains.")
@click.option("--hard-crash", is_flag=True, help="Where a function raises, show where.")
@click.option("--out", "--output", "out", type=click.Choice(OUTPUTTERS), help="Default: what suits the value.")
@click.option("--out-file", "--output-file", type=click.Path(path_type=Path, dir_okay=False), help="Write there.")
@click.option(
    "--out-file-append", "--output-file-append", "out_append", is_flag=True, help="Write to the end of that file."
)
@click.option("--out-indent", "--output-indent", type=int, default=4, help="Of JSON; negative: all in one line.")
@click.option("--force-color/--no-color", "--force-colour/--no-colour", "color", default=None, help="Colours, or not.")
@click.option(
    "--state-output",
    "--state_output",
    type=click.Choice(STATE_OUTPUTS, case_sensitive=False),
    help="How much of each state is shown.",
)
@click.option("--state-verbose", "--state_verbose", type=bool, default=None, help="Show states that had nothing to do.")
@click.option("--output-diff", is_flag=True, help="Show only states that changed something or failed.")
@click.option("-g", "--grains", is_flag=True, help="Show the grains: the same as FUNCTION grains.items.")
@click.option(
    "-d", "--doc", "--documentation", is_flag=True, help="Show what FUNCTION, or all of a module, takes and does."
)
@click.option("--profile", is_flag=True, help="Show where the time of a run of states went.")
@click.option("--metadata", is_flag=True, help="Show exit code, jid and outputter besides the value.")
@click.option("-l", "--log-level", type=click.Choice(LOG_LEVELS), help="Of the log on stderr.")
@click.option("--log-file", default="", metavar="FILE", help="A file that gets the log, too.")
@click.option("--log-file-level", type=click.Choice(LOG_LEVELS), help="Of the log in that file.")
@click.option("--return", "returners", default="", metavar="NAMES", help="Returners that get the value as well.")
@click.option("--retcode-passthrough", is_flag=True, help="Exit with the code of the command that was run.")
@_said_only(("-t", "--timeout"), type=int)
@_said_only(("--refresh-grains-cache",), is_flag=True)
@_said_only(("--no-return-event",), is_flag=True)
@options.config_dir
def call_command(fun: str, args: tuple[str, ...], grains: bool, doc: bool, out_indent: int, **given: Any) -> int:
    """Run FUNCTION on this machine.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    """
    check_folder(given["config_dir"])
    if grains:
        fun, args = "grains.items", ()
    elif doc:
        fun, args = "sys.doc", tuple(word for word in (fun, *args) if word)
    elif not fun:
        raise click.UsageError("Missing argument 'FUNCTION'.")
    indent = out_indent if out_indent >= 0 else None
    asked = {option: value for option, value in given.items() if value is not None}
    return main(CallOptions(fun=fun, args=args, out_indent=indent, **asked))
