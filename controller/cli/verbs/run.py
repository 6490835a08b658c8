"""`saltern run`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, OK
from controller.cli.progress import progress_line
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallProgress, CallReturn, CallStarted
from controller.schema.targets import TargetExpression
from minion.call.arguments import BadArgument, parse


@click.command("run")
@click.argument("target")
@click.argument("function")
@click.argument("arguments", nargs=-1)
@options.targeting
@click.option(
    "-t",
    "--timeout",
    type=click.FloatRange(0.1),
    default=30.0,
    show_default=True,
    help="Seconds to wait; the job goes on after that.",
)
@click.option("--limit", type=click.FloatRange(0.1), help="Seconds after which minions end the job; none by default.")
@click.option("--return", "returners", multiple=True, metavar="NAMES", help="Returners that get the values as well.")
@click.option("--return_config", "--return-config", default="", help="The profile of their options.")
@click.option("--return_kwargs", "--return-kwargs", default="", metavar="YAML", help="Options of theirs, as a mapping.")
@click.option("--out", "--output", type=click.Choice(options.FORMATS), default="nested", show_default=True)
@click.option("--hide-timeout", is_flag=True, help="Leave out minions that do not answer.")
@options.config_dir
def run_command(
    target: str,
    function: str,
    arguments: tuple[str, ...],
    kind: str | None,
    timeout: float,
    limit: float | None,
    returners: tuple[str, ...],
    return_config: str,
    return_kwargs: str,
    out: str,
    hide_timeout: bool,
    config_dir: Path,
) -> int:
    """Run FUNCTION on the minions that TARGET (a glob) matches.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    """
    try:
        values, pairs = parse(arguments)
        _, given = parse((f"given={return_kwargs or '{}'}",))
    except BadArgument as error:
        raise click.UsageError(str(error)) from None
    options_given = given["given"]
    if not isinstance(options_given, dict):
        raise click.UsageError(f"--return_kwargs is a mapping, such as '{{db: 5}}', not {return_kwargs!r}")
    asked = TargetExpression(kind=kind or "glob", expression=target)  # type: ignore[arg-type]  # a choice of click's
    returns: list[CallReturn] = []
    with Client(config_dir) as client, progress_line() as line:
        question = CallQuestion(
            target=asked,
            fun=function,
            args=values,
            kwargs=pairs,
            timeout=timeout,
            limit=limit or 0.0,
            progress=line.shown,
            ret=returners,
            ret_config=return_config,
            ret_kwargs=options_given,
        )
        for item in client.stream("/call", question):
            if isinstance(item, CallStarted):
                continue
            if isinstance(item, CallProgress):
                line.update(item)
                continue
            if not item.answered and hide_timeout:
                continue
            returns.append(item)
            if out in ("nested", "txt"):
                with line.aside(item.minion):
                    _show(item, out)
    if out in ("json", "yaml"):
        output.document({item.minion: _told(item) for item in returns}, out)
    if any(item.answered and not item.ok for item in returns):
        output.remark("ERROR: Minions returned with non-zero exit code")
    return OK if returns and all(item.ok for item in returns) else FAILED


def _told(item: CallReturn) -> Any:
    return item.error if item.error and item.value is None else item.value


def _show(item: CallReturn, out: str) -> None:
    value = _told(item)
    if out == "txt":
        click.echo(f"{item.minion}: {output.printable(str(value))}")
        return
    click.echo(output.styled(f"{item.minion}:", fg="cyan" if item.ok else "red"))
    if isinstance(value, dict) and value and all("_|-" in str(key) for key in value):
        lines = ["    " + line for line in output.states(value)]
    else:
        lines = output.nested(value, 4)
    for line in lines:
        click.echo(line if item.ok else output.styled(line, fg="red"))
    if item.error and item.value is not None:
        click.echo(output.styled("    " + output.printable(item.error), fg="red"))
