"""Files to which records are appended, and which lose at most the record that a crash cut off.

Each record has its length and CRC-32 before it. One process appends; others may read what is whole meanwhile.
"""

from __future__ import annotations

import errno
import os
import threading
import zlib
from collections.abc import Iterator
from pathlib import Path

_HEADER = 8  # length and CRC-32 of a record, four bytes each
_LARGEST = 64 * 1024 * 1024


class RecordFile:
    """One that is open for appending. Opening it drops what a crash cut off at its end."""

    def __init__(self, path: Path) -> None:
        """Raises OSError."""
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        self.found: list[bytes] = []
        """The records that were there."""
        self.size = 0
        """Bytes of the file."""
        self._lock = threading.Lock()
        for body, end in records(os.pread(self._fd, os.fstat(self._fd).st_size, 0)):
            self.found.append(body)
            self.size = end
        os.ftruncate(self._fd, self.size)
        os.lseek(self._fd, self.size, os.SEEK_SET)

    def append(self, body: bytes, *, durable: bool) -> None:
        """Add a record; `durable`: it is on disk when this returns. OSError leaves the file as it was."""
        record = len(body).to_bytes(4, "big") + zlib.crc32(body).to_bytes(4, "big") + body
        with self._lock:
            try:
                if os.write(self._fd, record) < len(record):
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            except OSError:
                os.ftruncate(self._fd, self.size)
                os.lseek(self._fd, self.size, os.SEEK_SET)
                raise
            self.size += len(record)
        if durable:
            os.fdatasync(self._fd)

    def close(self) -> None:
        """Append no more."""
        os.close(self._fd)


def records(data: bytes, start: int = 0) -> Iterator[tuple[bytes, int]]:
    """The whole records of a file from an offset on, each with the offset of its end."""
    while start + _HEADER <= len(data):
        size = int.from_bytes(data[start : start + 4], "big")
        end = start + _HEADER + size
        body = data[start + _HEADER : end]
        if size > _LARGEST or len(body) < size or zlib.crc32(body) != int.from_bytes(data[start + 4 : start + _HEADER]):
            return
        yield body, end
        start = end
