"""Keeps two processes from making a machine of the same name at the same time: clouds make both."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from controller.cloud.errors import CloudFailed
from controller.ssh.own_key import owned_as_above


@contextmanager
def name_lock(folder: Path, name: str) -> Iterator[None]:
    """Have a name to oneself. CloudFailed: somebody else has it, or there is no place for a lock.

    Args:
        folder: of the locks; made.
        name: an id of a minion, which is a name for a file, too.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / name
        lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        owned_as_above(folder, path)
    except OSError as error:
        raise CloudFailed(f"{name} cannot be locked: {error}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CloudFailed(f"another process makes {name} now: see `saltern cloud -Q` when it has ended") from None
        yield
    finally:
        os.close(lock)
