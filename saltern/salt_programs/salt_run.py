"""`salt-run FUNCTION [ARGUMENTS]`: functions of the controller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import click

from minion.call.arguments import BadArgument, parse
from saltern.client import RunnerClient
from saltern.salt_programs.common import Output, fail, one_name, options_of, output_of, run, shared_options


@click.command("salt-run", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("words", nargs=-1, metavar="FUNCTION [ARGUMENTS]...")
@click.option("-t", "--timeout", type=float, help="Accepted; a runner is waited for.")
@click.option("--async", "detached", is_flag=True, help="Wait for nothing.")
@click.option("--quiet", is_flag=True, help="Print nothing.")
@click.option("--skip-grains", is_flag=True, help="Accepted.")
@click.option("-d", "--doc", "--documentation", "doc", is_flag=True)
@shared_options
def command(words: Sequence[str], timeout: float | None, skip_grains: bool, **given: Any) -> int:
    """Call FUNCTION of the controller. `saltern runner` is the same under Saltern's name."""
    quiet = given.pop("quiet")
    output, client = output_of(given), RunnerClient(options_of(given))
    output = output._replace(outputter="quiet") if quiet else output
    if given["doc"]:
        return _show_documentation(client, words)
    if not words:
        raise click.UsageError("Missing argument: FUNCTION")
    try:
        args, kwargs = parse(words[1:])
    except BadArgument as error:
        raise click.UsageError(str(error)) from None
    if given["detached"]:
        begun = client.cmd_async({"fun": words[0], "arg": list(args), "kwarg": kwargs})
        click.echo(f"Running in asynchronous mode; salt-run jobs.lookup_jid {begun['jid']} has the result", err=True)
        return 0
    found = client.cmd(words[0], list(args), kwarg=kwargs, print_event=output.outputter != "json", full_return=True)
    return _show(found, output)


def main() -> None:
    """The program."""
    run(command)


def _show(found: Mapping[str, Any], output: Output) -> int:
    value, suits = found["return"], "nested"
    if isinstance(value, Mapping) and {"outputter", "data"} <= value.keys():
        suits = str(value["outputter"]) if output.outputter == "" else "nested"
        value = value["data"]
    output.show(value, suits=suits)
    return 0 if found["success"] else 1


def _show_documentation(client: RunnerClient, words: Sequence[str]) -> int:
    one_name(words)
    docs = client.cmd("doc.runner", kwarg={"name": words[0] if words else ""}, print_event=False)
    if not isinstance(docs, Mapping):
        fail(str(docs))
    for name, text in sorted(docs.items()):
        click.echo(f"{name}:\n{text}")
    return 0
