"""file.replace, file.comment and file.uncomment: lines of a file changed by a regular expression.

Behaviour: doc/ref/states/all/salt.states.file. As in Salt, file.replace works on bytes, so that `\\w` and IGNORECASE
know ASCII only.
"""

from __future__ import annotations

import codecs
import re
from typing import Annotated, TypedDict, Unpack

from minion.arguments.patterns import Flags
from minion.arguments.types import BackupDir, Ignored, NumberOrText
from minion.machine.failure import StateFailed
from minion.machine.plan import Plan, Reader, Value
from minion.machine.timed_regex import TimedRegex
from minion.states.file.diff import diff
from minion.states.file.edit import CHANGES, Opened, Words, beside, edited, encoded, opened
from minion.states.file.paths import behind, checked


class _ReplaceUnused(TypedDict, total=False):
    """Arguments of Salt's file.replace that are ignored or refused."""

    bufsize: Annotated[Value, Ignored("the file is read as a whole")]


def replace(
    machine: Reader,
    name: str,
    *,
    pattern: NumberOrText,
    repl: NumberOrText,
    count: int = 0,
    flags: Flags = 8,
    append_if_not_found: bool = False,
    prepend_if_not_found: bool = False,
    not_found_content: NumberOrText | None = None,
    backup: bool | str = ".bak",
    show_changes: bool = True,
    ignore_if_missing: bool = False,
    backslash_literal: bool = False,
    encoding: str | None = None,
    backup_dir: BackupDir = "",
    **_: Unpack[_ReplaceUnused],
) -> Plan:
    """All matches of `pattern` become `repl`."""
    if ignore_if_missing and behind(machine, checked(name, "replace"))[1] is None:
        return Plan(comment=CHANGES.good)
    if append_if_not_found and prepend_if_not_found:
        raise StateFailed("Only one of append and prepend_if_not_found is permitted")
    if count < 0:
        raise StateFailed(f"count must be a number, 0 for all matches, not {count!r}")
    file = opened(machine, name, "replace", binary=encoding is not None)
    old = file.data if encoding is None else _utf8(file, encoding)
    text = repl.encode()
    substitute = text.replace(b"\\", b"\\\\") if backslash_literal else text
    compiled = compiled_pattern(pattern.encode(), flags)
    try:
        new, found = compiled.subn(substitute, old, count)
    except (re.error, IndexError) as error:
        raise StateFailed(f"repl {repl!r} does not fit the pattern {pattern!r}: {error}") from None
    if not found and (append_if_not_found or prepend_if_not_found):
        content = text if not_found_content is None else not_found_content.encode()
        new = _with_line(old, content, flags, at_end=append_if_not_found)
    words = Words(good=CHANGES.good, pending="Changes would have been made", done=CHANGES.done)
    data = file.data if new == old else new if encoding is None else _of_utf8(new, encoding, file)
    return edited(file, data, words, backup=beside(file, backup, backup_dir), show_changes=show_changes,
                  shown=None if encoding is None else diff(old, new))  # fmt: skip


_BIG_ENDIAN = {"utf16": (codecs.BOM_UTF16_BE, "utf-16-be"), "utf32": (codecs.BOM_UTF32_BE, "utf-32-be")}
"""Encodings that follow the mark at a file's beginning, and write the one of this machine's byte order."""


def _utf8(file: Opened, encoding: str) -> bytes:
    """What a file of another encoding holds, in UTF-8."""
    try:
        return file.data.decode(encoding).encode()
    except (LookupError, UnicodeError) as error:
        raise StateFailed(f"{file.name} cannot be read as {encoding}: {error}") from None


def _of_utf8(text: bytes, encoding: str, file: Opened) -> bytes:
    """The text in the file's encoding and byte order."""
    mark, other = _BIG_ENDIAN.get(re.sub("[-_]", "", encoding.lower()), (b"", ""))
    try:
        if mark and file.data.startswith(mark):
            return mark + text.decode().encode(other)
        return text.decode().encode(encoding)
    except UnicodeError as error:
        raise StateFailed(f"The new content cannot be written as {encoding}: {error}") from None


def comment(
    machine: Reader,
    name: str,
    *,
    regex: NumberOrText,
    char: str = "#",
    backup: bool | str = ".bak",
    ignore_missing: bool = False,
    backup_dir: BackupDir = "",
) -> Plan:
    """Lines that match `regex` from their beginning get `char` before them."""
    file = opened(machine, name, "comment")
    pattern = regex
    bare = _bare(pattern)
    sign = re.escape(char)
    lines = file.text.splitlines(keepends=True)
    if not _searched(rf"^(?!\s*{sign})\s*{bare}", file.text):
        if _searched(f"{sign}{bare}", file.text):
            return Plan(comment="Pattern already commented")
        if ignore_missing:
            return Plan(comment="Pattern not found and ignore_missing set to True")
        raise StateFailed(f"{bare}: Pattern not found")
    matching = _line_pattern(pattern)
    new = [char + line if matching.match(line) and not line.lstrip().startswith(char) else line for line in lines]
    if new == lines:
        if _searched(f"{sign}{bare}", file.text):
            return Plan(comment="Pattern already commented")
        raise StateFailed(
            f"Expected commented lines not found: {pattern!r} is in the file, but not at the beginning of a line; "
            "let the pattern begin with what the line begins with"
        )
    words = Words(good="", pending=f"File {name} is set to be updated", done="Commented lines successfully")
    return edited(file, encoded("".join(new)), words, backup=beside(file, backup, backup_dir))


def uncomment(
    machine: Reader,
    name: str,
    *,
    regex: NumberOrText,
    char: str = "#",
    backup: bool | str = ".bak",
    backup_dir: BackupDir = "",
) -> Plan:
    """Lines that are `char` and then match `regex` lose the `char`."""
    file = opened(machine, name, "uncomment")
    pattern = regex
    sign, body = re.escape(char), pattern.lstrip("^")
    is_plain = _searched(rf"^[ \t]*{body}", file.text)
    if not _searched(rf"{sign}[ \t]*{body}", file.text):
        if is_plain:
            return Plan(comment="Pattern already uncommented")
        raise StateFailed(f"{regex}: Pattern not found")
    end = "$" if pattern.endswith("$") else ""
    matching = _compiled_text(rf"^{sign}\s*({body.rstrip('$')}){end}")
    lines = file.text.splitlines(keepends=True)
    new = [line.lstrip(char) if matching.match(line) else line for line in lines]
    if new == lines and not is_plain:
        raise StateFailed("Expected uncommented lines not found")
    words = Words(
        good="Pattern already uncommented",
        pending=f"File {name} is set to be updated",
        done="Uncommented lines successfully",
    )
    return edited(file, encoded("".join(new)), words, backup=beside(file, backup, backup_dir))


def _with_line(data: bytes, content: bytes, flags: int, *, at_end: bool) -> bytes:
    """The data with a line more, unless an earlier run has put it there."""
    if re.search(rb"^" + re.escape(content) + rb"($|(?=\r\n))", data, flags | re.MULTILINE):
        return data
    if not at_end:
        return content + b"\n" + data
    return data + (b"\n" if data and not data.endswith(b"\n") else b"") + content + b"\n"


def compiled_pattern(pattern: bytes, flags: int) -> TimedRegex[bytes]:
    """The pattern for a file's bytes; StateFailed when it is no regular expression."""
    try:
        return TimedRegex(pattern, flags)
    except (re.error, ValueError) as error:
        raise StateFailed(f"pattern {pattern.decode()!r} is no regular expression: {error}") from None


def _compiled_text(pattern: str) -> TimedRegex[str]:
    try:
        return TimedRegex(pattern)
    except re.error as error:
        raise StateFailed(f"{pattern!r} is no regular expression: {error}") from None


def _searched(pattern: str, text: str) -> bool:
    return _compiled_text(f"(?m){pattern}").search(text) is not None


def _bare(pattern: str) -> str:
    """The pattern without its anchors, to look for it behind a comment sign."""
    return re.sub(r"^(\(\?[iLmsux]\))?\^?(.*?)\$?$", r"\2", pattern)


def _line_pattern(pattern: str) -> TimedRegex[str]:
    start, end = "^" if pattern.startswith("^") else "", "$" if pattern.endswith("$") else ""
    return _compiled_text(f"{start}({pattern.lstrip('^').rstrip('$')}){end}")
