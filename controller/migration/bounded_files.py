"""Files that may be anybody's, read up to a size. Called by `salt_files` and `cached_minions`."""

from __future__ import annotations

import os
import stat
from pathlib import Path


class FileRefused(Exception):
    """A file that is not read; the text says why."""


def read_bounded(path: Path, most: int) -> bytes:
    """The content of a regular file; a link is not followed. Raises FileRefused.

    Args:
        path: of the file.
        most: bytes; a larger file is refused.
    """
    try:
        # A fifo or a device in the place of a file must not keep this waiting.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC)
        with open(handle, "rb") as file:  # noqa: PTH123  (a descriptor)
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise FileRefused(f"{path} is no file")
            data = file.read(most + 1)
    except OSError as error:
        raise FileRefused(f"{path} cannot be read: {error.strerror}") from None
    if len(data) > most:
        raise FileRefused(f"{path} has more than {most} bytes")
    return data
