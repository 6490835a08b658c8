"""Write docs/reference/cli.md from the commands themselves: usage, arguments and options of each verb.

.venv/bin/python -m tools.docs.cli_reference
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from pathlib import Path

import click

from controller.cli.main import VERBS, saltern

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "cli.md"
_HEAD = """# Command-line reference

<!-- written by python -m tools.docs.cli_reference -->

Every verb with its usage, subcommands and options, as `--help` prints them. [commands.md](../commands.md)
explains output formats and exit codes and has examples.

"""


def main() -> None:
    """Write the page."""
    PAGE.write_text(page())


def page() -> str:
    """The whole page as the code has it."""
    top = click.Context(saltern, info_name="saltern")
    verbs = [(verb, saltern.get_command(top, verb)) for verb in VERBS]
    parts = [_HEAD, "| Verb | What it does |\n|---|---|\n"]
    parts += [f"| [`{verb}`](#{_anchor(f'saltern {verb}')}) | {_cell(text)} |\n" for verb, (_, text) in VERBS.items()]
    for verb, command in verbs:
        if command is not None:
            parts += _described(command, click.Context(command, info_name=verb, parent=top), level=2)
    return "".join(parts)


def _described(command: click.Command, context: click.Context, level: int) -> Iterator[str]:
    """The section of a command, then those of its subcommands."""
    path = context.command_path
    yield f"\n{'#' * level} {path}\n\n{_help(command)}\n\n"
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield f"```text\n{usage}\n```\n"
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options:
        yield "\n| Option | Value | Default | Meaning |\n|---|---|---|---|\n"
        yield from (_row(each, context) for each in options)
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _described(inner, click.Context(inner, info_name=name, parent=context), level + 1)


def _row(option: click.Option, context: click.Context) -> str:
    names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
    value = "" if option.is_flag or option.count else f"`{option.make_metavar(context)}`".replace("|", "\\|")
    shown = option.default
    default = (
        f"`{shown}`" if isinstance(shown, str | int | float) and not isinstance(shown, bool) and shown != "" else ""
    )
    many = "; may be given several times" if option.multiple else ""
    return f"| {names} | {value} | {'' if option.is_flag else default} | {_cell(option.help or '')}{many} |\n"


def _help(command: click.Command) -> str:
    """The help as Markdown: paragraphs as they are, blocks that click must not wrap as they are written."""
    text = inspect.cleandoc(command.help or "").replace("<", "&lt;")
    blocks = text.split("\n\n")
    return "\n\n".join(
        "```text\n" + block.removeprefix("\b\n").replace("&lt;", "<") + "\n```" if block.startswith("\b") else block
        for block in blocks
    )


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|").replace("<", "&lt;")


def _anchor(title: str) -> str:
    return title.replace(" ", "-")


if __name__ == "__main__":
    main()
