"""`salt.utils.files`: files."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import IO, Any


def fopen(path: Any, mode: str = "r", *args: Any, **kwargs: Any) -> IO[Any]:
    """Open a file; text is UTF-8 unless said otherwise."""
    if "b" not in mode:
        kwargs.setdefault("encoding", "utf-8")
    return open(path, mode, *args, **kwargs)  # noqa: PTH123  (the caller closes it)


@contextlib.contextmanager
def flopen(path: Any, *args: Any, **kwargs: Any) -> Iterator[IO[Any]]:
    """The same, locked against others who lock it."""
    with fopen(path, *args, **kwargs) as file:
        fcntl.flock(file.fileno(), fcntl.LOCK_SH)
        yield file


@contextlib.contextmanager
def set_umask(mask: int | None) -> Iterator[None]:
    """Another umask for a while; None leaves it."""
    if mask is None:
        yield
        return
    before = os.umask(mask)
    try:
        yield
    finally:
        os.umask(before)


def mkstemp(*args: Any, **kwargs: Any) -> str:
    """The path of a new empty file."""
    kwargs.pop("close_fd", None)
    descriptor, path = tempfile.mkstemp(*args, **kwargs)
    os.close(descriptor)
    return str(path)


def copyfile(source: str, dest: str, backup_mode: str = "", cachedir: str = "") -> None:
    """Copy a file over another, whose owner and mode stay."""
    shutil.copyfile(source, dest)


def safe_rm(path: str) -> None:
    """Remove a file if it is there."""
    with contextlib.suppress(OSError):
        os.remove(path)  # noqa: PTH107


def rm_rf(path: str) -> None:
    """Remove a tree."""
    shutil.rmtree(path)


def is_binary(path: str) -> bool:
    """Whether a file is no text."""
    try:
        with open(path, "rb") as file:  # noqa: PTH123
            return b"\0" in file.read(2048)
    except OSError:
        return False


TEMPFILE_PREFIX = "__salt.tmp."


def normalize_mode(mode: Any) -> str | None:
    """A mode as four octal digits; `keep` and null stay."""
    if mode is None:
        return None
    text = str(mode).replace("0o", "0").strip("'\"")
    return text if text == "keep" else text.lstrip("0").zfill(4)
