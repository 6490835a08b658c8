"""Files of the minion's own that a crash leaves whole: the old content or the new one, never a part.

Called where the minion stores data of its own. Files that states manage are written by `minion.machine.machine`.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_durably(path: Path, data: bytes) -> None:
    """Replace a file so that after a crash there is the old content or the new one. Mode 0600. Raises OSError."""
    _write(path, data, sync=True)
    sync_folder(path.parent)


def write_whole(path: Path, data: bytes) -> None:
    """Replace a file at once, for what can be made again: a power loss may empty it. Mode 0600. Raises OSError."""
    _write(path, data, sync=False)


def make_durable(path: Path) -> None:
    """Have a file of `write_whole` outlast a power loss. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
    sync_folder(path.parent)


def write_readable(path: Path, data: bytes) -> None:
    """Replace a file that all may read, in a folder that another user may own: no name there is followed. OSError."""
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}.new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123  (a descriptor, not a path)
            file.write(data)
            os.fchmod(fd, 0o644)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes, *, sync: bool) -> None:
    fresh = path.with_name(f".{path.name}.{os.getpid()}.new")
    fd = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123  (a descriptor, not a path)
            file.write(data)
            file.flush()
            if sync:
                os.fsync(fd)
        fresh.replace(path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def whole_files(folder: Path) -> list[Path]:
    """The files of a folder, in the order of their names; what a killed process has left half written is removed.

    Called before anything is written there. Raises OSError.
    """
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") and path.name.endswith(".new"):
            path.unlink(missing_ok=True)
        else:
            found.append(path)
    return found


def sync_folder(path: Path) -> None:
    """Have the kernel write the entries of a folder to disk. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
