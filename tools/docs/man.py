"""Write the man pages: saltern(1), and saltern-VERB(1) of each verb with its subcommands.

    .venv/bin/python -m tools.docs.man DIR

They are of the same source as `--help` and docs/reference/cli.md, the commands themselves; exit codes, environment and
examples are those of docs/commands.md. Packages build them (DIR is `usr/share/man/man1` of one). Nothing in them is of
the machine or the day that they are built on.

The format is man(7): https://manpages.debian.org/man.7
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from importlib.metadata import version
from pathlib import Path

import click

from controller.cli.main import VERBS, saltern

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "commands.md"
_FILES = (
    ("/etc/saltern/controller, /etc/saltern/controller.d/*.conf", "The configuration of a controller."),
    ("/etc/saltern/minion, /etc/saltern/minion.d/*.conf", "The configuration of a minion."),
    ("~/.saltern_token", "The token of saltern login."),
)
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"(`[^`]+`)")
_ROFF = str.maketrans({"\\": r"\e", "-": r"\-", "'": r"\(aq", "`": r"\(ga", "^": r"\(ha", "~": r"\(ti"})
_LONGEST = 20
"""Lines of one example."""
_WIDEST = 66
"""Columns of an example, which 80 columns have beside the indents; of a wider one the commands alone are shown."""


def main() -> None:
    """Write the pages into the folder that is named, which is made."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m tools.docs.man DIR")
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages().items():
        (folder / name).write_text(text, encoding="utf-8")


def pages() -> dict[str, str]:
    """File name -> the whole page."""
    return pages_of(VERBS)


def pages_of(verbs: Iterable[str]) -> dict[str, str]:
    """The same for saltern(1) and these verbs. LookupError: there is no such verb."""
    guide = GUIDE.read_text(encoding="utf-8")
    top = click.Context(saltern, info_name="saltern")
    made = {"saltern.1": "\n".join(_first_page(guide)) + "\n"}
    for verb in verbs:
        command = saltern.get_command(top, verb)
        if command is None:
            raise LookupError(f"there is no verb {verb}")
        context = click.Context(command, info_name=verb, parent=top)
        made[f"saltern-{verb}.1"] = "\n".join(_page(verb, VERBS[verb][1], command, context, guide)) + "\n"
    return made


def _first_page(guide: str) -> Iterator[str]:
    yield from _title("saltern", "GitOps for servers, in the Salt language")
    yield ".SH SYNOPSIS"
    yield r".B saltern"
    yield r"\fIVERB\fR [\fIOPTIONS\fR] [\fIARGUMENTS\fR]"
    yield ".SH DESCRIPTION"
    yield from _text(inspect.cleandoc(saltern.help or ""))
    yield ".SH VERBS"
    for verb, (_, text) in VERBS.items():
        yield from [".TP", rf"\fBsaltern\-{_escaped(verb)}\fR(1)", *_line(text)]
    yield ".SH OUTPUT"
    yield from _text(_paragraphs(guide, "### Output"))
    yield ".SH EXIT STATUS"
    yield from _rows(guide, "### Exit codes")
    yield ".SH ENVIRONMENT"
    yield from _rows(guide, "### Environment")
    yield ".SH FILES"
    for path, text in _FILES:
        yield from [".TP", rf"\fI{_escaped(path)}\fR", *_line(text)]


def _page(verb: str, text: str, command: click.Command, context: click.Context, guide: str) -> Iterator[str]:
    yield from _title(f"saltern-{verb}", text.rstrip("."))
    yield ".SH SYNOPSIS"
    yield from (line for each in _commands(command, context) for line in _usage(*each))
    yield ".SH DESCRIPTION"
    yield from _text(inspect.cleandoc(command.help or ""))
    yield from _options(command, context, ".SH OPTIONS")
    if isinstance(command, click.Group):
        yield ".SH SUBCOMMANDS"
        for inner, its_context in _commands(command, context):
            if inner is not command:
                yield from [f".SS {_escaped(its_context.command_path)}", *_text(inspect.cleandoc(inner.help or ""))]
                yield from _options(inner, its_context, "")
    examples = _examples(guide, verb)
    if examples:
        yield ".SH EXAMPLES"
        for lines in examples:
            yield from [".PP", ".nf", ".RS", *map(_escaped_line, lines), ".RE", ".fi"]
    yield ".SH SEE ALSO"
    yield r"\fBsaltern\fR(1), which has the exit status and the environment of all verbs"


def _title(name: str, text: str) -> list[str]:
    first = text.split(" ")[0]
    lower = text[:1].lower() + text[1:] if first.istitle() and first != "Salt" else text
    head = f'.TH "{name.upper()}" "1" "" "saltern {version("saltern")}" "Saltern"'
    return [head, ".nh", ".ad l", ".SH NAME", rf"{_escaped(name)} \- {_escaped(lower)}"]


def _commands(command: click.Command, context: click.Context) -> Iterator[tuple[click.Command, click.Context]]:
    """A command and those below it."""
    yield command, context
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            yield from _commands(inner, click.Context(inner, info_name=name, parent=context))


def _usage(command: click.Command, context: click.Context) -> list[str]:
    if isinstance(command, click.Group) and not command.invoke_without_command and command.commands:
        return []
    pieces = " ".join(command.collect_usage_pieces(context))
    return [rf"\fB{_escaped(context.command_path)}\fR {_escaped(pieces)}", ".br"]


def _options(command: click.Command, context: click.Context, heading: str) -> Iterator[str]:
    options = [each for each in command.params if isinstance(each, click.Option) and not each.hidden]
    if options and heading:
        yield heading
    for option in options:
        record = option.get_help_record(context)
        if record is not None:
            names, text = record
            breakable = _escaped(names).replace("|", r"|\:")
            yield from [".TP", rf"\fB{breakable}\fR", *_line(text or "See above.")]


def _text(text: str) -> Iterator[str]:
    """Paragraphs; those that click must not wrap are not filled here either."""
    for block in text.split("\n\n"):
        yield ".PP"
        if block.startswith("\b"):
            yield from [".nf", *map(_escaped_line, block.removeprefix("\b\n").splitlines()), ".fi"]
        else:
            yield from _line(block)


def _line(text: str) -> list[str]:
    """One paragraph of Markdown as one line: links are their texts, code is bold."""
    plain = _LINK.sub(r"\1", " ".join(text.split()))
    parts = [
        rf"\fB{_escaped(part[1:-1])}\fR" if part.startswith("`") else _escaped(part) for part in _CODE.split(plain)
    ]
    line = "".join(parts)
    return [rf"\&{line}" if line.startswith((".", "'")) else line]


def _escaped_line(text: str) -> str:
    escaped = _escaped(text)
    return rf"\&{escaped}" if escaped.startswith((".", "'")) or not escaped else escaped


def _escaped(text: str) -> str:
    """Text that is no request of man's: hyphens stay hyphens, so that options can be copied and found."""
    return text.translate(_ROFF)


def _section(guide: str, heading: str) -> str:
    level = heading.split(" ")[0]
    _, found, rest = guide.partition(f"\n{heading}\n")
    if not found:
        raise ValueError(f"{GUIDE} has no {heading}")
    return re.split(rf"\n#{{1,{len(level)}}} ", rest)[0]


def _paragraphs(guide: str, heading: str) -> str:
    return _section(guide, heading).strip()


def _rows(guide: str, heading: str) -> Iterator[str]:
    for line in _section(guide, heading).splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if line.startswith("| ") and len(cells) == 2 and cells[0] not in ("Code", "Variable"):
            yield from [".TP", rf"\fB{_escaped(cells[0].strip('`'))}\fR", *_line(cells[1])]


def _examples(guide: str, verb: str) -> list[list[str]]:
    """Blocks of the console in the verb's section; of long and wide ones the commands alone."""
    found = re.findall(r"^```console\n(.*?)^```$", _section(guide, f"## {verb}"), re.MULTILINE | re.DOTALL)
    blocks = [block.splitlines() for block in found]
    return [block if _fits(block) else _commands_of(block) for block in blocks]


def _commands_of(block: list[str]) -> list[str]:
    """The commands without what they print, those that are too wide on several lines, as a shell reads them."""
    lines: list[str] = []
    for command in (line for line in block if line.startswith("$ ")):
        line = ""
        for word in re.findall(r"(?:'[^']*'|[^\s'])+", command.split("  #")[0]):
            if line and len(line) + len(word) + 3 > _WIDEST:
                lines.append(f"{line} \\")
                line = "     "
            line = f"{line} {word}" if line else word
        lines.append(line)
    return lines


def _fits(block: list[str]) -> bool:
    return len(block) <= _LONGEST and all(len(line) <= _WIDEST for line in block)


if __name__ == "__main__":
    main()
