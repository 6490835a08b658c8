"""Values as Salt's outputter `nested` has them, and the colours of a terminal.

Called by the outputters; pure. What a value says to the terminal itself is taken out of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_COLORS = {"green": "0;32", "red": "0;31", "light red": "0;1;31", "cyan": "0;36", "yellow": "0;1;33"}
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[@-Z\\-_]|[\x00-\x08\x0b-\x1f\x7f]")


def paint(text: str, name: str, color: bool) -> str:
    """Text in a colour of the terminal."""
    return f"\x1b[{_COLORS[name]}m{text}\x1b[0;0m" if color else text


def plain(text: str) -> str:
    """Text without what a terminal would take for orders."""
    return _ESCAPES.sub("", text)


def nested(value: Any, indent: int, color: bool, prefix: str = "") -> Iterator[str]:
    """A value's lines, keys sorted; `prefix` stands before its first line."""
    pad = " " * indent
    if isinstance(value, bytes):
        value = value.decode("utf-8", "replace")
    if isinstance(value, str):
        for number, line in enumerate(value.splitlines()):
            lead = " " * len(prefix) if number else prefix
            yield pad + paint(f"{lead}{plain(line)}", "green", color)
    elif isinstance(value, Mapping):
        if indent:
            yield pad + paint("----------", "cyan", color)
        for key in sorted(value, key=str):
            yield pad + paint(f"{prefix}{plain(str(key))}", "cyan", color) + ":"
            yield from nested(value[key], indent + 4, color)
    elif isinstance(value, list | tuple | set | frozenset):
        for inner in value:
            yield from _item(inner, indent, color)
    else:
        yield pad + paint(f"{prefix}{value!r}", "yellow", color)


def _item(inner: Any, indent: int, color: bool) -> Iterator[str]:
    if not isinstance(inner, list | tuple | Mapping):
        yield from nested(inner, indent, color, "- ")
        return
    yield " " * indent + paint("|_", "green", color)
    yield from nested(inner, indent + 2, color, "" if isinstance(inner, Mapping) else "- ")
