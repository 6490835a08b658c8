"""Files that may be anything, read up to a size. Called where a configuration, or what it names, is read.

What lies in the place of a configuration file may never end (`/dev/zero`), or keep its reader waiting (a fifo).
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_KINDS: Final = {
    stat.S_IFIFO: "a fifo",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a folder",
    stat.S_IFSOCK: "a socket",
}


class FileRefused(Exception):
    """A file that is not read; the text says why."""


CONFIG_BYTES: Final = 4 * 1024 * 1024
"""Of one file of a configuration; a larger one is refused."""


def read_bounded(path: Path, most: int, *, follow: bool = False) -> bytes:
    """The content of a regular file.

    Args:
        path: of the file.
        most: bytes; a larger file is refused.
        follow: whether it may be a link.

    Raises:
        FileRefused: it is no regular file, is too large, or cannot be read.
    """
    try:
        # Without O_NONBLOCK, opening a fifo waits for who writes into it.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW))
        try:
            if not stat.S_ISREG(mode := os.fstat(handle).st_mode):
                raise FileRefused(f"{path} is no file, but {_KINDS.get(stat.S_IFMT(mode), 'something else')}")
            with open(handle, "rb", closefd=False) as file:
                data = file.read(most + 1)
        finally:
            os.close(handle)
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}") from error
    if len(data) > most:
        raise FileRefused(f"{path} has more than {most} bytes")
    return data
