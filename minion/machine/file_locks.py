"""Locks that are files, held until the process that took one ends."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


def take_lock(path: Path, *, wait: bool) -> int | None:
    """A lock that is ours until this process ends, with our process id in it; None when another has it.

    The descriptor does not pass to commands (close-on-exec), so a daemon that a state starts holds nothing.
    """
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX if wait else fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(fd)
        return None
    os.ftruncate(fd, 0)
    os.pwrite(fd, f"{os.getpid()}\n".encode(), 0)
    return fd


def lock_holder(path: Path) -> int | None:
    """Process id of who has the lock, None when nobody has."""
    try:
        fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        text = os.pread(fd, 32, 0).strip()
        return int(text) if text.isdigit() else None
    finally:
        os.close(fd)
    return None
