"""The grains that were collected last, and requests to collect them anew.

cachedir/grains.msgpack    the last collection
         grains.asked      there when somebody wants another one (`saltutil.refresh_grains`, `grains.set`)
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from minion.machine.durable_files import write_durably

KEPT = "grains.msgpack"


def kept_grains(cachedir: Path) -> dict[str, Any]:
    """The last collection; empty when there is none that can be read."""
    with contextlib.suppress(OSError, msgspec.MsgspecError):
        return msgspec.msgpack.decode((cachedir / KEPT).read_bytes(), type=dict[str, Any])
    return {}


def pack_grains(grains: Mapping[str, Any]) -> bytes:
    """Grains as they are kept and sent; values that msgpack does not know become text."""
    return msgspec.msgpack.encode(grains, enc_hook=str)


def keep_grains(cachedir: Path, packed: bytes) -> None:
    """Keep a collection (`pack_grains`). Raises OSError."""
    write_durably(cachedir / KEPT, packed)
