"""`salt.utils.stringutils`: text and bytes."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from typing import Any


def to_unicode(s: Any, encoding: str | None = None, errors: str = "strict", normalize: bool = False) -> str:
    """Text of bytes or text; TypeError for anything else."""
    if isinstance(s, bytes | bytearray):
        return bytes(s).decode(encoding or "utf-8", errors)
    if isinstance(s, str):
        return s
    raise TypeError(f"expected str or bytes, got {type(s).__name__}")


def to_bytes(s: Any, encoding: str | None = None, errors: str = "strict") -> bytes:
    """Bytes of text or bytes; TypeError for anything else."""
    if isinstance(s, bytes | bytearray):
        return bytes(s)
    if isinstance(s, str):
        return s.encode(encoding or "utf-8", errors)
    raise TypeError(f"expected str or bytes, got {type(s).__name__}")


to_str = to_unicode


def to_num(text: Any) -> Any:
    """A number where text is one."""
    for kind in (int, float):
        try:
            return kind(text)
        except (TypeError, ValueError):
            continue
    return text


def to_none(text: Any) -> Any:
    """None for empty text and the word none."""
    return None if str(text).strip().lower() in ("", "none") else text


def is_quoted(value: str) -> str:
    """The quote that stands around text, empty when there is none."""
    return value[0] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else ""


def dequote(value: str) -> str:
    """Text without the quotes around it."""
    return value[1:-1] if is_quoted(value) else value


def expr_match(line: str, expr: str) -> bool:
    """Whether text equals, globs or matches an expression."""
    if line == expr or fnmatch.fnmatchcase(line, expr):
        return True
    try:
        return re.fullmatch(expr, line) is not None
    except re.error:
        return False


def contains_whitespace(text: str) -> bool:
    """Whether there is white space in it."""
    return any(one.isspace() for one in text)


def get_context(template: str, line: int, num_lines: int = 5, marker: str | None = None) -> str:
    """The lines around a line."""
    lines = template.splitlines()
    first = max(0, line - num_lines - 1)
    shown: Iterable[str] = lines[first : line + num_lines]
    return "---\n" + "\n".join(shown) + "\n---"
