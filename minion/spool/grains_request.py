"""A request to the agent to collect its grains anew: the file `cachedir/grains.asked`.

Made by `saltutil.refresh_grains`, `grains.set` and the like; the agent takes it at its next turn.
"""

from __future__ import annotations

from pathlib import Path

ASKED = "grains.asked"


def request_collection(cachedir: Path) -> None:
    """Have the agent collect its grains anew. Raises OSError."""
    (cachedir / ASKED).touch()


def take_request(cachedir: Path) -> bool:
    """Whether a collection was requested since the last time."""
    try:
        (cachedir / ASKED).unlink()
    except OSError:
        return False
    return True
