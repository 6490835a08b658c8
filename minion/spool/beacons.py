"""The beacons of the minion's files in force: a file of the cache, which functions change and the agent reads.

The agent writes it anew when it starts, so that what was not saved lasts as long as the agent, as in Salt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from minion.machine.durable_files import write_whole

FILE = "beacons.json"


def write_beacons(cachedir: Path, own: Any, places: Mapping[str, str]) -> None:
    """Put beacons in force, with their places. Raises OSError."""
    write_whole(cachedir / FILE, msgspec.json.encode({"beacons": own, "places": dict(places)}, enc_hook=str))


def read_beacons_file(cachedir: Path) -> tuple[Any, dict[str, str]] | None:
    """The beacons in force and their places; None where no agent has written any."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        kept = msgspec.json.decode((cachedir / FILE).read_bytes(), type=dict[str, Any])
        return kept.get("beacons"), kept.get("places") or {}
    return None


def beacons_version(cachedir: Path) -> tuple[int, ...]:
    """Another one whenever the beacons in force, or the modules of the tree, have changed."""
    found: list[int] = []
    for path in (cachedir / FILE, cachedir / "usermodules" / "index.json"):
        try:
            status = path.stat()
            found += (status.st_mtime_ns, status.st_ino)
        except OSError:
            found += (0, 0)
    return tuple(found)
