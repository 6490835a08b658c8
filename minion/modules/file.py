"""The execution module `file`: looks at files. What changes files are states."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.modules.context import Context
from minion.modules.errors import CallFailed

LARGEST_READ = 16 * 1024 * 1024
"""Bytes; what is read goes over the wire."""


def file_exists(context: Context, path: str) -> bool:
    """Whether there is a file."""
    return Path(path).expanduser().is_file()


def directory_exists(context: Context, path: str) -> bool:
    """Whether there is a directory."""
    return Path(path).expanduser().is_dir()


def path_exists_glob(context: Context, path: str) -> bool:
    """Whether anything fits the pattern."""
    import glob

    return bool(glob.glob(str(Path(path).expanduser())))  # noqa: PTH207  (the pattern is absolute)


def access(context: Context, path: str, mode: str) -> bool:
    """Whether the minion may do this: f exists, r, w or x."""
    import os

    modes = {"f": os.F_OK, "r": os.R_OK, "w": os.W_OK, "x": os.X_OK}
    if mode not in modes:
        raise CallFailed(f"mode must be one of f, r, w, x; not {mode!r}")
    return os.access(Path(path).expanduser(), modes[mode])


def read(context: Context, path: str) -> str:
    """Content of a file, as text."""
    place = Path(path).expanduser()
    try:
        if place.stat().st_size > LARGEST_READ:
            raise CallFailed(f"{path} is larger than {LARGEST_READ} bytes")
        return place.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CallFailed(f"{path}: {error.strerror}") from error


def readdir(context: Context, path: str) -> list[str]:
    """Names in a directory, `.` and `..` first."""
    try:
        return [".", "..", *sorted(entry.name for entry in Path(path).expanduser().iterdir())]
    except OSError as error:
        raise CallFailed(f"{path}: {error.strerror}") from error


def get_hash(context: Context, path: str, form: str = "sha256") -> str:
    """Digest of a file in hexadecimal digits."""
    if form not in hashlib.algorithms_guaranteed or form.startswith("shake"):
        raise CallFailed(f"form {form!r} is not known; take sha256, sha512 or md5")
    try:
        with Path(path).expanduser().open("rb") as file:
            return hashlib.file_digest(file, form).hexdigest()
    except OSError as error:
        raise CallFailed(f"{path}: {error.strerror}") from error


def stats(context: Context, path: str) -> dict[str, Any]:
    """Owner, mode, kind and size of what is at a path."""
    found = context.machine.stat(str(Path(path).expanduser()))
    if found is None:
        raise CallFailed(f"{path} is not there")
    kind = {"directory": "dir", "symlink": "link"}.get(found.kind, found.kind)
    names = ("user", "uid", "group", "gid", "mode", "size")
    return {**{name: getattr(found, name) for name in names}, "type": kind, "target": found.target or path}


FUNCTIONS: Mapping[str, Any] = {
    "access": access,
    "directory_exists": directory_exists,
    "file_exists": file_exists,
    "get_hash": get_hash,
    "path_exists_glob": path_exists_glob,
    "read": read,
    "readdir": readdir,
    "stats": stats,
}
