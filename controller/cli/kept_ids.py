"""Ids of minions that a shell was told a moment ago, in the user's cache: the controller is not asked for each key.

Used by `controller.cli.offers`. One controller is kept, the one that was asked last; what cannot be read is not there.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

MOST_BYTES = 512 * 1024
"""Of the file."""


class KeptIds(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the file."""

    controller: str
    """Its socket."""
    at: float
    """Seconds since the epoch."""
    minions: tuple[str, ...]


def kept_ids(controller: str, seconds: float) -> Sequence[str] | None:
    """Those of a controller that are not older than so many seconds; None: there are none."""
    try:
        with _file().open("rb") as file:
            found = msgspec.json.decode(file.read(MOST_BYTES), type=KeptIds)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    if found.controller != controller or not 0 <= time.time() - found.at <= seconds:
        return None
    return found.minions


def keep_ids(controller: str, minions: Sequence[str]) -> None:
    """Keep them in place of those before; nothing where the cache cannot be written, or they are too long."""
    content = msgspec.json.encode(KeptIds(controller=controller, at=time.time(), minions=tuple(minions)))
    if len(content) > MOST_BYTES:
        return
    file = _file()
    with contextlib.suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=file.parent)  # only the user may read it
        try:
            with os.fdopen(descriptor, "wb") as written:
                written.write(content)
            Path(name).replace(file)
        except OSError:
            Path(name).unlink(missing_ok=True)
            raise


def _file() -> Path:
    folder = os.environ.get("XDG_CACHE_HOME", "")
    return (Path(folder) if folder.startswith("/") else Path.home() / ".cache") / "saltern" / "minions.json"
