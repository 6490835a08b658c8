"""What filters of templates ask of the machine, where Salt has no execution function for it.

`|list_files` calls `jinja_filter.list_files`, and so on (`highstate/render/filters/live.py`): at once in files that are
rendered on the machine and by `saltern call --local`, on the controller as a function of the live machine. Behaviour is
that of the filters in https://docs.saltproject.io/en/latest/topics/jinja/index.html.
"""

from __future__ import annotations

import base64
import datetime
import os
import secrets
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from minion.arguments.types import Reads
from minion.execution.context import Context
from minion.execution.errors import CallFailed

MOST_FILES = 100_000
"""Paths that `list_files` gives at most."""
_MOST_CHARACTERS = 65_536
_CONNECT_SECONDS = 2.0
_TEXT = bytes(range(32, 127)) + b"\n\r\t\f\b"


def dns_check(context: Context, addr: str, port: int = 80, safe: bool = False, ipv6: bool | None = None) -> str:
    """The address of a host as URLs have it: the first that takes a connection, else the first; empty if `safe`."""
    family = {True: socket.AF_INET6, False: socket.AF_INET, None: socket.AF_UNSPEC}[ipv6]
    try:
        found = socket.getaddrinfo(addr, port, family, socket.SOCK_STREAM)
    except OSError as error:
        if safe:
            return ""
        raise CallFailed(f"DNS lookup of {addr!r} failed: {error}") from error
    addresses = [str(info[4][0]) for info in found]
    best = next((one for one in addresses if _answers(one, port)), addresses[0])
    return f"[{best}]" if ":" in best else best


def _answers(address: str, port: int) -> bool:
    try:
        socket.create_connection((address, port), timeout=_CONNECT_SECONDS).close()
    except OSError:
        return False
    return True


def gen_mac(context: Context, prefix: str = "AC:DE:48") -> str:
    """A random hardware address with this beginning."""
    return ":".join([prefix, *(f"{secrets.randbelow(256):02X}" for _ in range(3))])


def is_bin_file(context: Context, path: Annotated[str, Reads]) -> bool:
    """Whether a file is there and its beginning is no text."""
    return Path(path).is_file() and _is_binary(_beginning(path, 2048))


def is_empty(context: Context, path: Annotated[str, Reads]) -> bool:
    """Whether a file is there and has no content."""
    try:
        return Path(path).stat().st_size == 0
    except OSError:
        return False


def is_text_file(context: Context, path: Annotated[str, Reads]) -> bool:
    """Whether a file is there and its beginning is text."""
    found = _beginning(path, 512)
    return found is not None and not _is_binary(found)


def _beginning(path: str, size: int) -> bytes | None:
    try:
        with Path(path).open("rb") as file:
            return file.read(size)
    except OSError:
        return None


def _is_binary(block: bytes | None) -> bool:
    """Whether a block has a zero byte, or other bytes than those of text in more than 30 of 100 places."""
    if not block:
        return False
    return b"\0" in block or len(block.translate(None, _TEXT)) / len(block) > 0.30


def list_files(context: Context, directory: Annotated[str, Reads]) -> list[str]:
    """A directory and all that is below it, sorted."""
    found = [directory]
    for root, folders, files in os.walk(directory):
        found += [f"{root.rstrip('/')}/{name}" for name in (*files, *folders)]
        if len(found) > MOST_FILES:
            raise CallFailed(f"{directory} has more than {MOST_FILES} files")
    return sorted(found)


def now(context: Context, form: str = "%Y-%m-%d") -> str:
    """The local time in a form of strftime: what `|strftime` gives for nothing."""
    return datetime.datetime.now().strftime(form)


def random_str(context: Context, size: int = 32) -> str:
    """Random text of so many characters of base64."""
    if not 0 <= size <= _MOST_CHARACTERS:
        raise CallFailed(f"size must be from 0 to {_MOST_CHARACTERS}")
    return base64.b64encode(secrets.token_bytes(size)).decode()[:size]


FUNCTIONS: Mapping[str, Any] = {
    "dns_check": dns_check,
    "gen_mac": gen_mac,
    "is_bin_file": is_bin_file,
    "is_empty": is_empty,
    "is_text_file": is_text_file,
    "list_files": list_files,
    "now": now,
    "random_str": random_str,
}
