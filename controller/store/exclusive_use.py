"""One controller to a store: two would each make and send desired states, and number them differently.

Called by the controller's root before it opens the store. The kernel frees the lock when the process ends, however it
ends.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from controller.store.errors import StoreInUse, StoreUnavailable

_LONGEST_PID = 20


@contextlib.contextmanager
def exclusive_use(url: str) -> Iterator[None]:
    """Hold the store at a URL while the body runs. Only stores in a file are locked.

    Raises:
        StoreInUse: another process holds it.
        StoreUnavailable: the file of the lock cannot be written.
    """
    database = file_of(url)
    if database is None:
        yield
        return
    path = database.with_name(f"{database.name}.lock")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # A POSIX lock belongs to the process: a forked worker does not inherit it and keep it beyond our end.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise StoreUnavailable(f"{path}: {error.strerror}") from error
    try:
        _take(handle, database)
        yield
    finally:
        os.close(handle)


def _take(handle: int, database: Path) -> None:
    try:
        fcntl.lockf(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        owner = os.pread(handle, _LONGEST_PID, 0).decode("ascii", "replace").strip()
        raise StoreInUse(
            f"{database} is used by another controller (process {owner}); stop that one, or set another store_url"
        ) from error
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode("ascii"), 0)


def file_of(url: str) -> Path | None:
    """The file of a store; None for one that is in none, and for what is no URL."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return None  # opening the store says what is wrong with it
    in_file = parsed.get_backend_name() == "sqlite" and parsed.database not in (None, "", ":memory:")
    return Path(str(parsed.database)) if in_file else None
