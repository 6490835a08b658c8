"""Prints answers: data on stdout, remarks on stderr; tables and colours on a terminal, plain text elsewhere.

`NO_COLOR` (no-color.org) and `TERM=dumb` turn colours off; `CLICOLOR_FORCE` turns them on where there is no terminal
(https://bixense.com/clicolors/).
"""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import click
import msgspec

from controller.cli.failure import with_pages
from controller.cli.options import SCHEMA_VERSION
from controller.schema.plans import PruneView

COLOURS = {
    "Synced": "green",
    "Healthy": "green",
    "accepted": "green",
    "ok": "green",
    "changed": "yellow",
    "pending": "yellow",
    "OutOfSync": "yellow",
    "Progressing": "cyan",
    "Drifted": "yellow",
    "Paused": "blue",
    "Shadow": "blue",
    "Held": "blue",
    "Degraded": "red",
    "Failed": "red",
    "failed": "red",
    "failure": "red",
    "success": "green",
    "running": "cyan",
    "compile error": "red",
    "refused": "red",
    "timed out": "red",
    "unreachable": "bright_black",
    "cancelled": "blue",
    "error": "red",
    "rejected": "red",
    "Unreachable": "bright_black",
    "Unknown": "bright_black",
}
"""Words that have a colour wherever they stand alone in a table's cell."""


def document(view: Any, form: str, indent: int = 2) -> None:
    """Print one JSON or YAML document; `indent`: spaces of a level of JSON, 0 for one line."""
    click.echo(document_text(view, form, indent), nl=False)


def documents_by_id(views: Mapping[str, Any], form: str) -> None:
    """Print one document that has a view of each id, which no field of ours may stand beside."""
    click.echo(_text({name: versioned(view) for name, view in views.items()}, form, 2), nl=False)


def salt_document(value: Any, form: str, indent: int = 2) -> None:
    """Print a document that has the shape of Salt's, for what reads that: nothing of ours is in it."""
    click.echo(_text(msgspec.to_builtins(value), form, indent), nl=False)


def json_line(view: Any) -> None:
    """Print a view as one line of JSON, of a stream."""
    click.echo(msgspec.json.encode(versioned(view)).decode())


def document_text(view: Any, form: str, indent: int = 2) -> str:
    """One JSON or YAML document, with a line end."""
    return _text(versioned(view), form, indent)


def versioned(view: Any) -> Any:
    """The plain data of a view, whose first field is `schema_version`; of a list each row has it."""
    match msgspec.to_builtins(view):
        case dict() as plain:
            return {"schema_version": SCHEMA_VERSION, **plain}
        case list() | tuple() as rows:
            return [versioned(row) if isinstance(row, dict) else row for row in rows]
        case value:
            return value


def _text(plain: Any, form: str, indent: int) -> str:
    if form == "json":
        return msgspec.json.format(msgspec.json.encode(plain).decode(), indent=indent) + "\n"
    import yaml

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    return str(yaml.dump(plain, Dumper=dumper, default_flow_style=False, sort_keys=False, allow_unicode=True))


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table: as wide as the terminal, with colours; elsewhere columns that `awk` can split."""
    found = [tuple(printable(cell) for cell in row) for row in rows]
    if sys.stdout.isatty():
        _terminal_table(heads, found)
        return
    for line in plain_table(heads, found):
        click.echo(line)


def plain_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, two spaces between; empty cells are `-`, so that each line has as many."""
    cells = [tuple(head.upper().replace(" ", "_") for head in heads), *(tuple(c or "-" for c in row) for row in rows)]
    widths = [max(len(row[column]) for row in cells) for column in range(len(heads))]
    lines = []
    for row in cells:
        padded = [
            styled(cell, fg=COLOURS.get(cell)) + " " * (width - len(cell))
            for cell, width in zip(row, widths, strict=True)
        ]
        lines.append("  ".join(padded).rstrip())
    return lines


def _terminal_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    from controller.cli.terminal_table import lines_of

    def style(cell: str | None, part: str) -> str:
        return styled(part, bold=True) if cell is None else styled(part, fg=COLOURS.get(cell))

    for line in lines_of(heads, rows, shutil.get_terminal_size().columns, style):
        click.echo(line)


def styled(text: str, **style: Any) -> str:
    """Text with a colour, where colours are wanted."""
    return click.style(text, **style) if coloured() else text


def coloured() -> bool:
    """Whether stdout takes colours. `NO_COLOR` wins over `CLICOLOR_FORCE`, which wins over what stdout is."""
    if os.environ.get("NO_COLOR"):
        return False
    return colours_forced() or (sys.stdout.isatty() and os.environ.get("TERM") != "dumb")


def colours_forced() -> bool:
    """Whether there are colours wherever stdout goes."""
    return os.environ.get("CLICOLOR_FORCE", "0") not in ("", "0") and not os.environ.get("NO_COLOR")


def remark(text: str) -> None:
    """Progress and advice, on stderr."""
    click.echo(with_pages(text), err=True)


def printable(text: str, kept: str = "\n\t") -> str:
    """Without control characters but those that are kept: what a minion sends must not steer the terminal."""
    return "".join(c if c.isprintable() or c in kept else repr(c)[1:-1] for c in text)


def ago(at: float | None, now: float | None = None) -> str:
    """`3m ago`; empty for never."""
    if at is None:
        return ""
    seconds = max(0.0, (time.time() if now is None else now) - at)
    return f"{span(seconds)} ago"


def span(seconds: float) -> str:
    """A length of time in its largest unit."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if seconds >= size:
            return f"{int(seconds // size)}{unit}"
    return f"{seconds:.0f}s" if seconds >= 10 or seconds == int(seconds) else f"{seconds:.1f}s"


def clock(at: float | None) -> str:
    """Local time to the second; empty for never."""
    return "" if at is None else time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at))


def nested(value: Any, indent: int = 0) -> list[str]:
    """Salt's nested output: keys with a colon, what belongs to them indented."""
    pad = " " * indent
    match value:
        case Mapping():
            lines = []
            for key, inner in value.items():
                lines.append(f"{pad}{printable(str(key))}:")
                lines += nested(inner, indent + 4)
            return lines
        case list() | tuple():
            lines = []
            for inner in value:
                if isinstance(inner, Mapping | list | tuple):
                    lines.append(f"{pad}|_")
                    lines += nested(inner, indent + 2)
                else:
                    lines += [f"{pad}- {line}" for line in (printable(str(inner)).splitlines() or [""])]
            return lines
        case str():
            return [pad + line for line in printable(value).splitlines()] or [pad]
        case _:
            return [f"{pad}{value}"]


def counted(count: int, noun: str) -> str:
    """`1 minion`, `3 minions`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def bar(done: int, total: int, width: int = 20) -> str:
    """`[#####---------------]`: how much is done of a whole, in so many columns beside the brackets."""
    full = width * min(done, total) // total if total > 0 else 0
    return f"[{'#' * full}{'-' * (width - full)}]"


_FATES = {"reported": "reported", "left": "left", "held": "held back", "no-inverse": "no inverse"}


def unnamed(view: PruneView | None) -> list[str]:
    """What no state names any more, and what becomes of it."""
    if view is None:
        return []
    lines = [f"no longer named by any state, and still there (prune: {view.mode}):"] if view.resources else []
    for one in view.resources:
        inverse = f", {one.inverse} removes it" if one.fate == "reported" and one.inverse else ""
        why = f": {one.why}" if one.why and one.fate != "held" else ""
        fate = _FATES.get(one.fate, one.fate)
        lines.append(printable(f"  {one.resource}  {fate}{why}{inverse}; made by {one.maker}"))
    lines += [f"  ({view.more} more)"] if view.more else []
    lines += [printable(f"  nothing is removed: {view.held}")] if view.held else []
    lines += ["  the inventory is full: there may be more"] if view.full else []
    return lines


def states(found: Mapping[str, Any], *, only_changes: bool = False) -> list[str]:
    """A running dictionary for people: one line a state, then its comment and changes."""
    lines: list[str] = []
    for key, entry in sorted(found.items(), key=lambda item: _run_number(item[1])):
        result, changes = entry.get("result"), entry.get("changes")
        if only_changes and result is True and not changes:
            continue
        word, colour = _verdict(result, bool(changes))
        lines.append(styled(f"{word:8} {printable(_name_of(key, entry))}", fg=colour))
        if comment := str(entry.get("comment", "")).strip():
            lines += [f"         {line}" for line in printable(comment).splitlines()]
        if changes:
            lines += _changes(changes)
    return lines


def _changes(changes: Any) -> list[str]:
    """Changes of a state; those of a step that runs states on minions are the states of each, as Salt shows them."""
    running = changes.get("ret") if isinstance(changes, Mapping) and changes.get("out") == "highstate" else None
    if not isinstance(running, Mapping):
        return nested(changes, 11)
    lines: list[str] = []
    for minion, found in running.items():
        lines.append(f"{'':11}{printable(str(minion))}:")
        whole = isinstance(found, Mapping) and all(isinstance(one, Mapping) for one in found.values())
        lines += [f"{'':15}{line}" for line in states(found)] if whole else nested(found, 15)
    return lines


def _run_number(entry: Mapping[str, Any]) -> float:
    """Where a state stands in its run; minions say it, so it may be anything."""
    number = entry.get("__run_num__")
    return float(number) if isinstance(number, int | float) else 0.0


def _verdict(result: Any, changed: bool) -> tuple[str, str]:
    if result is None:
        return "pending", "yellow"
    if result is False:
        return "failed", "red"
    return ("changed", "cyan") if changed else ("ok", "green")


def _name_of(key: str, entry: Mapping[str, Any]) -> str:
    parts = key.split("_|-")
    if len(parts) != 4:
        return key
    state, declared, name, function = parts[0], parts[1], str(entry.get("name", parts[2])), parts[3].split("#")[0]
    return f"{state}.{function} {declared}" + (f" ({name})" if name != declared else "")
