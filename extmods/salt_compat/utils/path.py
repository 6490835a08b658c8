"""`salt.utils.path`: paths and programs."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator


def which(exe: str | None = None) -> str | None:
    """Path of a program, None when it is not there."""
    return shutil.which(exe) if exe else None


def which_bin(exes: Iterable[str]) -> str | None:
    """Path of the first of some programs that is there."""
    return next((found for exe in exes if (found := shutil.which(exe))), None)


def join(*parts: str, **options: object) -> str:
    """Parts of a path; those that begin with a slash do not start anew."""
    first, *rest = parts
    return os.path.normpath(os.path.join(first, *(part.lstrip("/") for part in rest)))  # noqa: PTH118


def islink(path: str) -> bool:
    """Whether it is a symlink."""
    return os.path.islink(path)  # noqa: PTH114


def readlink(path: str) -> str:
    """Where a symlink points."""
    return os.readlink(path)  # noqa: PTH115


def os_walk(top: str, *args: object, **kwargs: object) -> Iterator[tuple[str, list[str], list[str]]]:
    """Folders below, with their folders and files."""
    yield from os.walk(top)
