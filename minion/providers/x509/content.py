"""What an argument stands for: a path of this machine, PEM, or the hex or base64 of a binary form.

Needs no library. No error shows what was given, unless it is a path.
"""

from __future__ import annotations

import base64
import binascii
import importlib.util
from typing import Any, Protocol

from minion.machine.failure import StateFailed
from minion.machine.plan import FileStat

BEGIN = "-----BEGIN"
_LONGEST_PATH = 4096


class KeyFiles(Protocol):
    """Where paths are looked for."""

    def stat(self, path: str) -> FileStat | None:
        """What is there."""

    def read(self, path: str) -> bytes:
        """What it holds."""


def is_path(value: Any) -> bool:
    """Whether an argument names a file, and is not the thing itself."""
    return isinstance(value, str) and value.startswith("/") and len(value) < _LONGEST_PATH and "\n" not in value


def content_of(files: KeyFiles, value: Any) -> bytes:
    """The bytes that an argument stands for."""
    if isinstance(value, bytes):
        return value
    if not isinstance(value, str) or not value:
        raise StateFailed("a path, or a text in PEM, hex or base64 is needed")
    if is_path(value) and files.stat(value) is not None:
        return files.read(value)
    text = value.removeprefix("b64:")
    if BEGIN in text:
        return text.encode()
    compact = "".join(text.split())
    try:
        return bytes.fromhex(compact)
    except ValueError:
        pass
    try:
        return base64.b64decode(compact, validate=True)
    except (ValueError, binascii.Error):
        pass
    if is_path(value):
        raise StateFailed(f"{value} is not there")
    raise StateFailed(
        "Could not load provided source. You need to pass an existing file, (PEM|hex|base64)-encoded string or raw "
        "bytes."
    )


def require_library() -> None:
    """Raise StateFailed where what works on keys and certificates is not installed."""
    if importlib.util.find_spec("cryptography") is None:
        raise StateFailed("x509 needs the library cryptography: pip install 'saltern[cryptography]'")
