"""`saltern runner` and `saltern wheel`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import click

from controller.cli import options, output
from controller.cli.client import Client
from controller.cli.failure import FAILED, INTERRUPTED, OK
from controller.schema.requests import RunnerQuestion
from controller.schema.runners import RunnerItem, RunnerOutput, RunnerProgress, RunnerReturn, RunnerStarted
from minion.call.arguments import BadArgument, parse
from minion.call.outputters.nested import nested

_OUT = ("nested", "json", "yaml", "txt", "raw", "pprint", "highstate", "quiet")
_ENDS = "it goes on; its result: saltern history {jid}"


def _completion(kind: Literal["runner", "wheel"]) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """What shells offer as FUNCTION."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[str]:
        from controller.runners.registry import names  # with all its modules: only when a shell asks

        return [name for name in names(kind) if name.startswith(incomplete)]

    return complete


def _command(kind: Literal["runner", "wheel"], about: str) -> click.Command:
    @click.command(kind, help=about)
    @click.argument("function", default="", shell_complete=_completion(kind))
    @click.argument("arguments", nargs=-1)
    @click.option("--async", "detached", is_flag=True, help="Print the job's id, and wait for nothing.")
    @click.option(
        "-t",
        "--timeout",
        type=click.FloatRange(0.1),
        help="Seconds to wait; the call goes on after that. Default: all.",
    )
    @click.option("--out", "--output", type=click.Choice(_OUT), help="Default: nested, or what the function says.")
    @click.option("-q", "--quiet", is_flag=True, help="Show nothing of how far it is.")
    @click.option(
        "-d", "--doc", is_flag=True, help="Show what FUNCTION, or each of a module or of all, takes and does."
    )
    @options.config_dir
    def command(
        function: str,
        arguments: tuple[str, ...],
        detached: bool,
        timeout: float | None,
        out: str | None,
        quiet: bool,
        doc: bool,
        config_dir: Path,
    ) -> int:
        if doc:
            return _show_docs(kind, function, out, config_dir)
        if not function:
            raise click.UsageError(f"Missing argument 'FUNCTION'; `saltern {kind} -d` lists all.")
        question = _question(kind, function, arguments, timeout, wait=not detached)
        with Client(config_dir) as client:
            return _follow(client, question, out, quiet)

    return command


runner_command = _command(
    "runner",
    """Call FUNCTION of the controller.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    After Ctrl-C the call goes on.
    """,
)
wheel_command = _command(
    "wheel",
    """Call FUNCTION, which looks at or changes what the controller holds: keys, configuration, trees.

    ARGUMENTS are YAML values and KEY=VALUE pairs, as Salt has them; put `--` before ones that begin with a dash.
    """,
)


def _question(
    kind: Literal["runner", "wheel"], function: str, arguments: Sequence[str], timeout: float | None, *, wait: bool
) -> RunnerQuestion:
    try:
        values, pairs = parse(arguments)
    except BadArgument as error:
        raise click.UsageError(str(error)) from None
    return RunnerQuestion(kind=kind, fun=function, args=values, kwargs=pairs, timeout=timeout or 0.0, wait=wait)


def _follow(client: Client, question: RunnerQuestion, out: str | None, quiet: bool) -> int:
    """Show the call; the exit code."""
    jid = ""
    try:
        for item in client.stream("/runner", question):
            match item:
                case RunnerStarted():
                    jid = item.jid
                case RunnerReturn():
                    return _show_return(item, question, out)
                case _:
                    _show_news(item, quiet)
    except KeyboardInterrupt:
        if jid:
            output.remark(f"\n{question.fun} was not ended: {_ENDS.format(jid=jid)}")
        return INTERRUPTED
    click.echo(jid)
    return OK


def _show_news(item: RunnerItem, quiet: bool) -> None:
    match item:
        case RunnerOutput():
            click.echo(output.printable(item.text))
        case RunnerProgress() if not quiet:
            message = item.data.get("message")
            said = message if isinstance(message, str) else json.dumps(item.data, ensure_ascii=False)
            output.remark(output.printable(said))


def _show_return(item: RunnerReturn, question: RunnerQuestion, out: str | None) -> int:
    if not item.ended:
        output.remark(f"{question.fun} did not end within {question.timeout:g} s; {_ENDS.format(jid=item.jid)}")
        return FAILED
    if not item.success and isinstance(item.value, str):
        output.remark(output.styled(output.printable(item.value), fg="red") if out is None else item.value)
        return FAILED
    _show(item.value, out)
    return OK if item.success else FAILED


def _show(value: Any, out: str | None) -> None:
    if isinstance(value, Mapping) and "outputter" in value and "data" in value:
        if out is None:
            out = str(value["outputter"])
            value = value["data"]
        elif len(value) == 2:
            value = value["data"]
    match out:
        case None if value is None:
            return
        case "quiet":
            return
        case "json" | "yaml":
            output.salt_document(value, out)
        case "txt":
            click.echo(output.printable(str(value)))
        case "raw":
            click.echo(output.printable(repr(value)))
        case "pprint":
            import pprint

            click.echo(output.printable(pprint.pformat(value)))
        case "highstate" if isinstance(value, Mapping):
            _show_states(value)
        case _:
            click.echo("\n".join(nested(value, 0, output.coloured())))


def _show_states(value: Mapping[str, Any]) -> None:
    """Results of states, by the machine that ran them."""
    for machine, states in value.items():
        click.echo(output.styled(f"{output.printable(str(machine))}:", fg="cyan"))
        lines = output.states(states) if isinstance(states, Mapping) else nested(states, 0, output.coloured())
        for line in lines:
            click.echo(f"    {line}")


def _show_docs(kind: Literal["runner", "wheel"], function: str, out: str | None, config_dir: Path) -> int:
    question = RunnerQuestion(fun=f"doc.{kind}", kwargs={"name": function})
    with Client(config_dir) as client:
        found = next(item for item in client.stream("/runner", question) if isinstance(item, RunnerReturn))
    if not found.success or out is not None:
        return _show_return(found, question, out)
    for name, text in found.value.items():
        click.echo(output.styled(f"{name}:", bold=True))
        click.echo("\n".join(f"    {line}".rstrip() for line in output.printable(text).splitlines()) + "\n")
    return OK
