"""Options that the programs share, how they print, and how they end."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, NoReturn, TypeVar

import click

from controller.cli.output import printable
from controller.cli.token_file import keep_token
from extmods.salt_compat.exceptions import SaltException
from minion.call.outputters.as_json import as_json
from minion.call.outputters.render import render
from minion.config.groups import OutputOptions
from saltern.client import client_config
from saltern.client.connection import Connection
from saltern.client.opts import folder_of
from saltern.salt_names.configurations import own_path
from saltern.salt_programs.salt_options import common_words

_Function = TypeVar("_Function", bound=Callable[..., Any])
OUTPUTTERS = ("highstate", "json", "nested", "no_out", "no_return", "pprint", "quiet", "raw", "table", "txt", "yaml")
_LEVELS = ("all", "garbage", "trace", "debug", "profile", "info", "warning", "error", "critical", "quiet")
NO_MINIONS = 2
"""Exit code where a target means nobody."""


class Output(NamedTuple):
    """How values are printed."""

    outputter: str = ""
    """Empty: what suits the value."""
    indent: int | None = 4
    file: Path | None = None
    append: bool = False
    color: bool = False
    states: OutputOptions = OutputOptions()

    def show(self, value: Any, *, suits: str = "nested") -> None:
        """Print a value; `suits`: the outputter where none was asked for."""
        text = self._text(value, self.outputter or suits)
        if text is None:
            return
        if self.file is None:
            click.echo(text)
            return
        with self.file.open("a" if self.append else "w") as file:
            file.write(text + "\n")

    def _text(self, value: Any, outputter: str) -> str | None:
        match outputter:
            case "quiet" | "no_out":
                return None
            case "json":
                return as_json(_printable(value) if sys.stdout.isatty() else value, self.indent)
            case "raw":
                return repr(value)
            case "yaml" if not sys.stdout.isatty():
                pass  # data for a program
            case _:
                value = _printable(value)
        match outputter:
            case "nested" | "no_return":
                from minion.call.outputters.nested import nested

                return "\n".join(nested(value, 0, self.color))
        if isinstance(value, Mapping) and value:
            return "\n".join(
                render(one, outputter, minion_id=str(name), shown=self.states, color=self.color, indent=self.indent)
                for name, one in value.items()
            )
        return as_json(value, None) if outputter != "pprint" else repr(value)


def shared_options(function: _Function) -> _Function:
    """`-c`, those of the output, credentials, and those that ask for nothing here."""
    choices = {
        "config_dir": click.option("-c", "--config-dir", default=""),
        "out": click.option("--out", "--output", "out", default="", type=click.Choice(("", *OUTPUTTERS))),
        "indent": click.option("--out-indent", "--output-indent", "indent", type=int, default=4),
        "file": click.option("--out-file", "--output-file", "file", type=click.Path(path_type=Path, dir_okay=False)),
        "append": click.option("--out-file-append", "--output-file-append", "append", is_flag=True),
        "color": click.option("--force-color/--no-color", "--force-colour/--no-colour", "color", default=None),
        "state_output": click.option("--state-output", "--state_output", default=""),
        "state_verbose": click.option("--state-verbose", "--state_verbose", type=bool, default=None),
        "level": click.option("-l", "--log-level", "level", type=click.Choice(_LEVELS), expose_value=False),
        "log_file": click.option("--log-file", expose_value=False),
        "log_file_level": click.option("--log-file-level", type=click.Choice(_LEVELS), expose_value=False),
        "auth": click.option("-a", "--auth", "--eauth", "--external-auth", "auth", default=""),
        "make_token": click.option("-T", "--make-token", "make_token", is_flag=True),
        "username": click.option("--username", "username", default=""),
        "password": click.option("--password", "password", default=""),
    }
    decorated: Any = function
    for option in reversed(choices.values()):
        decorated = option(decorated)
    return decorated  # type: ignore[no-any-return]


def output_of(given: dict[str, Any]) -> Output:
    """The output that options ask for; they are taken out of `given`."""
    shown = OutputOptions()
    if state_output := given.pop("state_output"):
        shown = shown._replace(state_output=state_output)
    if (verbose := given.pop("state_verbose")) is not None:
        shown = shown._replace(verbose=verbose)
    color = given.pop("color")
    indent = given.pop("indent")
    return Output(
        outputter=given.pop("out"),
        indent=indent if indent >= 0 else None,
        file=given.pop("file"),
        append=given.pop("append"),
        color=sys.stdout.isatty() and not os.environ.get("NO_COLOR") if color is None else color,
        states=shown,
    )


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """The options of the controller that is asked, with the token of who asks where credentials are given.

    A password that is missing is asked for. `-T` keeps the token, as `saltern login` does.
    """
    auth, kept, user, password = (given.pop(name) for name in ("auth", "make_token", "username", "password"))
    opts = client_config(own_path(given.pop("config_dir")))
    if not (auth or kept or user or password):
        return opts
    user = user or click.prompt("username", err=True)
    password = password or click.prompt("password", hide_input=True, err=True)
    token = Connection(opts).of({"username": user, "password": password, "eauth": auth or "pam"}).token
    if kept and token:
        keep_token(token)
    return opts | {"token": token}


def own_words(words: Sequence[str]) -> list[str]:
    """The words, with Salt's folder of configurations as that of Saltern."""
    found = list(words)
    for at, word in enumerate(found):
        if word == "--":
            break
        if word in ("-c", "--config-dir") and at + 1 < len(found):
            found[at + 1] = str(folder_of(own_path(found[at + 1])))
        elif word.startswith("--config-dir="):
            found[at] = f"--config-dir={folder_of(own_path(word.partition('=')[2]))}"
    return found


def plain_words(program: str) -> list[str]:
    """The words of a program that is a verb of `saltern`, without the options that all programs take in one way."""
    try:
        return common_words(program, own_words(sys.argv[1:]))
    except click.UsageError as error:
        fail(str(error.message), 64)
    except SaltException as error:
        fail(str(error))


def _printable(value: Any) -> Any:
    """A value whose texts cannot steer the terminal: what minions send is theirs."""
    match value:
        case str():
            return printable(value)
        case Mapping():
            return {_printable(name): _printable(one) for name, one in value.items()}
        case list() | tuple():
            return [_printable(one) for one in value]
        case _:
            return value


def one_name(names: Sequence[str]) -> None:
    """Refuse `-d` with more than one function or module."""
    if len(names) > 1:
        raise click.UsageError("You can only get documentation for one method at one time.")


def fail(message: str, code: int = 1) -> NoReturn:
    """End the program."""
    click.echo(message, err=True)
    raise SystemExit(code)


def run(command: click.Command, arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a program and end the process with its exit code."""
    try:
        words = common_words(command.name or "", sys.argv[1:] if arguments is None else arguments)
        code = command.main(words, standalone_mode=False)
    except click.UsageError as error:
        error.show()
        code = 64
    except SaltException as error:
        click.echo(str(error), err=True)
        code = 1
    except (KeyboardInterrupt, click.Abort):
        click.echo("Exiting gracefully on Ctrl-c", err=True)
        code = 130
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # nobody reads any more, which is no failure
        code = 0
    sys.exit(code if isinstance(code, int) else 0)
