"""Which grains the event of a stock minion's start has: those that its `start_event_grains` names.

The controller tells starts itself, once a minion is connected; that is before the minion says its own, which alone
names the grains. So the names are kept for the next start, and of a minion that has never said any the controller is
asked to wait for them.

Source: `_fire_master_prepare` in `salt/minion.py`.
"""

from __future__ import annotations

import json
from pathlib import Path

from minion.machine.durable_files import write_whole
from wire.messages import MOST_START_GRAINS

_FILE = "start_grains.json"
_LONGEST_NAME = 256
FIRST_START_SECONDS = 30.0
"""For which a minion has to say its start: what runs there since before it knew this gateway says none."""


class StockStart:
    """Of one minion.

    Args:
        folder: where the names are kept.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / _FILE
        self._known = self._kept()
        self._waits_since: float | None = None
        self._untold = False
        """Whether it was let in since the controller was told of a start."""

    @property
    def known(self) -> bool:
        """Whether the controller may tell of the start now."""
        return self._known is not None

    @property
    def grains(self) -> tuple[str, ...]:
        """Names of the grains that the event has."""
        return self._known or ()

    def waits(self, now: float) -> None:
        """The controller has been asked to wait."""
        if self._waits_since is None:
            self._waits_since = now

    def let_in(self) -> None:
        """The minion has authenticated, perhaps as a new process."""
        self._untold = True

    def told(self) -> None:
        """The controller tells of a start: it hears that the minion is there, and `known` is true."""
        self._untold = False

    def said(self, grains: object) -> bool:
        """The minion has started, with these grains in its event; whether the controller is yet to be told.

        One that was restarted within a moment has never been away for the controller.

        Args:
            grains: what the event has; anything, where there are none.
        """
        untold = self._untold or self._known is None
        names = [str(name)[:_LONGEST_NAME] for name in grains] if isinstance(grains, dict) else []
        found = tuple(names[:MOST_START_GRAINS])
        if found != self._known:
            self._known = found
            write_whole(self._path, json.dumps(found).encode())
        self._untold = False
        return untold

    def is_overdue(self, now: float) -> bool:
        """Whether the controller has waited in vain, and is to wait no more."""
        if self._known is not None or self._waits_since is None or now - self._waits_since < FIRST_START_SECONDS:
            return False
        self._known = ()
        return True

    def _kept(self) -> tuple[str, ...] | None:
        try:
            found = json.loads(self._path.read_bytes())
        except (OSError, ValueError):
            return None
        return tuple(map(str, found)) if isinstance(found, list) else None
