"""file.line: one line of a file put in, kept, exchanged or taken out, at a place that other lines name.

Behaviour: doc/ref/states/all/salt.states.file, line. `before`, `after` and `match` are regular expressions, or text
that a line holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, TypedDict, Unpack

from minion.arguments.types import BackupDir, Ignored, Mode, NumberOrText, Owner
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, Value
from minion.machine.timed_regex import TimedRegex
from minion.states.file.edit import CHANGES, Opened, beside, edited, encoded, opened
from minion.states.file.perms import Perms

MODES = ("insert", "ensure", "delete", "replace")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    content: str
    match: str
    location: str | None
    before: str | None
    after: str | None
    indent: bool


class _LineUnused(TypedDict, total=False):
    """Arguments of Salt's file.line that are ignored or refused."""

    quiet: Annotated[Value, Ignored("nothing is printed")]


def line(
    machine: Reader,
    name: str,
    *,
    content: NumberOrText | None = None,
    match: NumberOrText | None = None,
    mode: str | None = None,
    location: str | None = None,
    before: NumberOrText | None = None,
    after: NumberOrText | None = None,
    show_changes: bool = True,
    backup: bool | str = False,
    indent: bool = True,
    create: bool = False,
    user: Owner | None = None,
    group: Owner | None = None,
    file_mode: Mode | None = None,
    backup_dir: BackupDir = "",
    **_: Unpack[_LineUnused],
) -> Plan:
    """The plan of file.line. With `backup` the old file stays as `<name>.bak`."""
    how = mode.lower() if mode is not None else None
    if how is None:
        raise StateFailed("Mode was not defined. How to process the file?")
    if how not in MODES:
        raise StateFailed(f'Unknown mode: "{mode}"; it can be {", ".join(MODES)}')
    if content is None and how != "delete":
        raise StateFailed("Content can only be empty if mode is delete")
    if location not in (None, "start", "end"):
        raise StateFailed(f"location can be start or end, not {location!r}")
    file = opened(machine, name, "line", create=create)
    text = content or ""
    aimed = match if match or before is not None or after is not None else text
    wanted = _Wanted(
        content=text,
        match=aimed or "",
        location=location,
        before=before,
        after=after,
        indent=indent,
    )
    copy = beside(file, ".bak" if backup is True else backup, backup_dir)
    return edited(
        file,
        encoded(_changed(file, how, wanted)),
        CHANGES,
        backup=copy,
        show_changes=show_changes,
        perms=Perms(user=user, group=group, mode=file_mode),
    )


def _changed(file: Opened, mode: str, wanted: _Wanted) -> str:
    """The text with the line as it is wanted; the same text when there is nothing to do."""
    ending = "\r\n" if "\r\n" in file.text else "\n"
    is_ended = file.text.endswith("\n") or not file.text
    lines = file.text.replace("\r\n", "\n").split("\n")
    if is_ended:
        lines.pop()
    steps: dict[str, Callable[[list[str], _Wanted], list[str]]] = {
        "delete": _deleted,
        "replace": _replaced,
        "insert": _inserted,
        "ensure": _ensured,
    }
    new = steps[mode](list(lines), wanted)
    if new == lines:
        return file.text
    return ending.join(new) + (ending if new and (is_ended or len(new) > len(lines)) else "")


def _deleted(lines: list[str], wanted: _Wanted) -> list[str]:
    found = _found(lines, wanted.match)
    return [line for line in lines if line != lines[found[0]]] if found else lines


def _replaced(lines: list[str], wanted: _Wanted) -> list[str]:
    found = _found(lines, wanted.match)
    if found:
        lines[found[0]] = _indented(lines[found[0]], wanted)
    return lines


def _inserted(lines: list[str], wanted: _Wanted) -> list[str]:
    if wanted.location == "end":
        new = _indented(lines[-1] if lines else "", wanted)
        return lines if lines and _is_same(lines[-1], wanted) else [*lines, new]
    if wanted.location == "start":
        return lines if lines and _is_same(lines[0], wanted) else [wanted.content, *lines]
    if wanted.before is None and wanted.after is None:
        raise StateFailed('On insert either "location" or "before/after" conditions are required.')
    return _placed(lines, wanted, is_strict=False)


def _ensured(lines: list[str], wanted: _Wanted) -> list[str]:
    if wanted.before is None and wanted.after is None:
        raise StateFailed(
            "Wrong conditions? Unable to ensure line without knowing where to put it before and/or after."
        )
    return _placed(lines, wanted, is_strict=True)


def _placed(lines: list[str], wanted: _Wanted, *, is_strict: bool) -> list[str]:
    """The line beside its neighbours. Strictly between two of them there may be one line, which it takes."""
    after = _one(lines, wanted.after, "after") if wanted.after is not None else None
    before = _one(lines, wanted.before, "before") if wanted.before is not None else None
    if after is not None and before is not None:
        return _between(lines, wanted, after, before, is_strict=is_strict)
    if after is not None:
        if after + 1 < len(lines) and _is_same(lines[after + 1], wanted):
            return lines
        return [*lines[: after + 1], _indented(lines[after], wanted), *lines[after + 1 :]]
    if before is None:
        return lines
    if before > 0 and _is_same(lines[before - 1], wanted):
        return lines
    near = lines[before - 1] if is_strict and before > 0 else lines[before]
    return [*lines[:before], _indented(near, wanted), *lines[before:]]


def _between(lines: list[str], wanted: _Wanted, after: int, before: int, *, is_strict: bool) -> list[str]:
    if before <= after:
        raise StateFailed(f'The line of "before" ({wanted.before!r}) stands before that of "after" ({wanted.after!r})')
    if not is_strict:
        if any(_is_same(line, wanted) for line in lines[after + 1 : before]):
            return lines
        return [*lines[:before], _indented(lines[before], wanted), *lines[before:]]
    if any(line.lstrip() == wanted.content for line in lines):
        return lines
    if before - after > 2:
        raise StateFailed('Found more than one line between boundaries "before" and "after".')
    return [*lines[: after + 1], _indented(lines[after], wanted), *lines[before:]]


def _one(lines: list[str], pattern: str, what: str) -> int:
    found = _found(lines, pattern)
    if len(found) != 1:
        much = "more than" if found else "less than"
        raise StateFailed(f'Found {much} expected occurrences in "{what}" expression')
    return found[0]


def _found(lines: list[str], pattern: str) -> list[int]:
    if not pattern:
        return []
    try:
        compiled = TimedRegex(pattern, re.DOTALL)
    except re.error as error:
        raise StateFailed(f"{pattern!r} is no regular expression: {error}") from None
    return [index for index, line in enumerate(lines) if compiled.search(line) or pattern in line]


def _is_same(line: str, wanted: _Wanted) -> bool:
    shown = (line.strip(), wanted.content.strip()) if wanted.indent else (line.rstrip(), wanted.content.rstrip())
    return shown[0] == shown[1]


def _indented(near: str, wanted: _Wanted) -> str:
    """The line, with the indentation of its neighbour unless `indent` is off."""
    if not wanted.indent:
        return wanted.content
    space = near[: len(near) - len(near.lstrip(" \t"))]
    return space + wanted.content.lstrip()
