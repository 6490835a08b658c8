"""Texts of results as any JSON or msgpack can carry them.

Called by the engine. A file's name may be bytes that are no UTF-8; Python reads them as halves of surrogate pairs,
which nothing can send. They are shown as `\\xff`, as ls(1) and others do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def printable(text: str) -> str:
    """The text, with bytes that are no UTF-8 written out."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
    return text


def printable_in(value: Any) -> Any:
    """The value with each text in it made printable, keys too."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, Mapping):
        return {printable_in(key): printable_in(one) for key, one in value.items()}
    return [printable_in(one) for one in value] if isinstance(value, list | tuple) else value
