"""YAML as most of it is written, read line by line: keys, items and scalars of one line, indented by spaces.

`blocks` asks this first, because PyYAML makes a node and two marks of every word, which takes three times as long
as libyaml itself. What is not plain beyond doubt is answered with None, and libyaml reads it: escapes, tags, anchors,
mappings in braces, scalars of several lines other than `|`, anything but ASCII, and whatever is wrong. Law
(property-tested): what is read here is what libyaml reads. Source: YAML 1.1, chapters 8 and 9.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from highstate.types import Value

_FIT = re.compile(r"[ -~\n]*\n")
_SCALAR = re.compile(r"(?:[A-Za-z0-9_/~+$(]|[.-](?=[A-Za-z0-9_/]))(?:[!\"$-9;-~]|:(?=[^ ])| +(?=[^ #]))*")
"""Plain text in one line: ` #` would begin a comment, and `: ` a mapping."""
_QUOTED = re.compile(r"'[ -&(-~]*'|\"[ !#-\[\]-~]*\"")
"""Quotes, with nothing between them that stands for something else."""
_LIST = re.compile(r"\[\w[\w/.-]*(?:, \w[\w/.-]*)*\]", re.ASCII)
_LITERALS = {"|": "\n", "|-": ""}
"""How a text of several lines is announced -> what it ends with."""
_LONGEST = 1000
"""Characters of a scalar; a key may have so many."""
_KEPT = 64
"""Characters of a word that is worth remembering."""

Hole = tuple[int, dict[Value, Value], Value]
"""A key whose value may stand below it: its column, its mapping, and the key."""


class _NotPlain(Exception):
    """For libyaml to read."""


def read_plain(
    text: str, words: dict[str, Value], resolve: Callable[[str], Value]
) -> tuple[dict[Value, Value], str] | None:
    """The mapping in `text`, which begins with a key, and that key as written; None when libyaml has to read it.

    `words` are scalars that were seen before; `resolve` says what a new one stands for, ValueError when it may be none.
    """
    if not _FIT.fullmatch(text):
        return None
    reader = _Reader(text.split("\n"), words, resolve)
    try:
        data = reader.read()
    except (_NotPlain, ValueError, LookupError):  # a number without digits; words that another thread has dropped
        return None
    key, colon, _ = reader.lines[0].partition(": ")
    return data, key if colon else key.rstrip(" ")[:-1]


class _Reader:
    """The lines of one text, and what words in it stand for."""

    def __init__(self, lines: list[str], words: dict[str, Value], resolve: Callable[[str], Value]) -> None:
        self.lines = lines
        self.words = words
        self.resolve = resolve

    def read(self) -> dict[Value, Value]:
        """Each line into the collection that is open at its column."""
        root: dict[Value, Value] = {}
        stack: list[tuple[int, Any]] = [(0, root)]
        inside: Any
        hole: Hole | None = None
        at, lines, words = 0, self.lines, self.words
        while at < len(lines):
            line = lines[at]
            at += 1
            body = line.strip(" ")
            if not body or body[0] == "#":
                continue
            column, item = line.index(body[0]), body[:2] == "- "
            if hole is not None and (column > hole[0] or (item and column == hole[0])):
                _, inside, name = hole
                inside[name] = inside = [] if item else {}
                stack.append((column, inside))
            else:
                inside = _closed(stack, column, item)
            hole = None
            if item:
                size = len(body)
                body = body[2:].lstrip(" ")
                column += size - len(body)
            key, colon, value = body.partition(": ")
            if not colon:
                if body[-1] != ":":
                    if not item:
                        raise _NotPlain
                    inside.append(words[body] if body in words else self.scalar(body))
                    continue
                key = body[:-1]
            if item:
                mapping: dict[Value, Value] = {}
                inside.append(mapping)
                stack.append((column, mapping))
                inside = mapping
            name = words[key] if key in words else self.key(key)
            if name in inside:
                raise _NotPlain
            if not colon:
                inside[name] = None
                hole = column, inside, name
            elif value in _LITERALS:
                at, inside[name] = self.literal(at, column, _LITERALS[value])
            else:
                inside[name] = words[value] if value in words else self.scalar(value)
        return root

    def key(self, text: str) -> Value:
        """A key, which is a plain scalar."""
        if not _SCALAR.fullmatch(text):
            raise _NotPlain
        return self.scalar(text)

    def scalar(self, text: str) -> Value:
        """A scalar, or a list of words in brackets."""
        text = text.strip(" ")
        if len(text) > _LONGEST:
            raise _NotPlain
        if _SCALAR.fullmatch(text):
            found = self.resolve(text)
            if len(text) <= _KEPT:
                self.words[text] = found
            return found
        if _QUOTED.fullmatch(text):
            return text[1:-1]
        if _LIST.fullmatch(text):
            return [self.resolve(one) for one in text[1:-1].split(", ")]
        before, comment, _ = text.partition(" #")
        if not comment or not _SCALAR.fullmatch(before.rstrip(" ")):
            raise _NotPlain
        return self.scalar(before)

    def literal(self, at: int, column: int, ending: str) -> tuple[int, str]:
        """The line after a text of several lines, and the text. It begins in line `at`; its key stands at `column`."""
        lines = self.lines
        margin = len(lines[at]) - len(lines[at].lstrip(" "))
        if margin <= column or margin == len(lines[at]):
            raise _NotPlain
        begin, indent = at, " " * margin
        while at < len(lines) and (not lines[at] or lines[at].startswith(indent)):
            at += 1
        if at < len(lines) and lines[at].lstrip(" ")[:1] in ("", "#"):
            raise _NotPlain
        text = "\n".join([line[margin:] for line in lines[begin:at]])
        return at, text.rstrip("\n") + ending


def _closed(stack: list[tuple[int, Any]], column: int, item: bool) -> Any:
    """The collection that a line at this column goes on with; those within it are at their end."""
    at, inside = stack[-1]
    while at > column or (at == column and not item and type(inside) is list):
        stack.pop()
        at, inside = stack[-1]
    if at != column or item is not (type(inside) is list):
        raise _NotPlain
    return inside
