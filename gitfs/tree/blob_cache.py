"""Parts of large blobs: git keeps them compressed whole, so each is unpacked once into a file of a bounded cache.

    <mirror's directory>/blobs/<id>     content of a blob

Called by `gitfs.tree.snapshot`. The files may go at any time; what is not there is unpacked again. Of several processes
that unpack the same blob, the last one's file stays, and all are equal.
"""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import pygit2

from gitfs.tree import objects

SMALL = 16 * 1024
"""Bytes up to which a blob is read whole each time."""
MOST_BYTES = 1024**3
"""Bytes of one mirror's unpacked blobs; the ones unused for longest go."""


def read_range(mirror: str, oid: str, offset: int, length: int) -> bytes:
    """Up to `length` bytes of a blob from `offset` on; both are 0 or more."""
    size = objects.blob_size(mirror, oid)
    if size <= SMALL:
        return objects.blob(mirror, oid)[offset : offset + length]
    with suppress(OSError):  # not there, or not ours to read
        return _read(_folder(mirror) / oid, offset, min(length, max(0, size - offset)))
    # The memory that git unpacked it into, and no copy of it.
    data = memoryview(objects.reading(mirror, lambda repository: repository[oid].peel(pygit2.Blob), f"blob {oid}"))
    with suppress(OSError):  # not ours to write, or no room: it is read whole each time
        _keep(_folder(mirror), oid, data)
    return bytes(data[offset : offset + length])


@lru_cache(maxsize=64)
def _folder(mirror: str) -> Path:
    return Path(mirror).parent / "blobs"


def _read(path: Path, offset: int, length: int) -> bytes:
    """Part of a file; `length` is what there is, since so much memory is taken before it is read."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        if offset == 0:
            with suppress(OSError):
                os.utime(descriptor)  # used just now; said once a download
        return os.pread(descriptor, length, offset)
    finally:
        os.close(descriptor)


def _keep(folder: Path, oid: str, data: memoryview) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    _make_room(folder, len(data))
    fresh = folder / f"new-{secrets.token_hex(8)}"
    try:
        fresh.write_bytes(data)
        fresh.replace(folder / oid)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise


def _make_room(folder: Path, needed: int) -> None:
    """Remove the files that were unused for longest, until there is room; what a kill left is among the oldest."""
    files = []
    for path in folder.iterdir():
        with suppress(OSError):
            status = path.stat()
            files.append((status.st_mtime, status.st_size, path))
    total = sum(size for _, size, _ in files) + needed
    for _, size, path in sorted(files):
        if total <= MOST_BYTES:
            return
        path.unlink(missing_ok=True)
        total -= size
