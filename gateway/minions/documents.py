"""Documents of one stock minion: the one that it holds, the one that runs, and what the minion has of them.

Made by `gateway.minions.minion`, which says to the controller and to the minion what follows. Nothing is sent here.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from highstate.desired import Desired
from minion.agent.drift import DriftTimer
from minion.spool.desired_state import DesiredState, read_document
from wire.messages import DesiredUpdate, Run

PILLAR_SECONDS = 10.0
"""That a minion which asks for its pillar waits for its first document: it is told of, and compiled. Without one it has
none, and is told once there is one."""
_ACTS = frozenset(("schedule", "beacons"))
"""Keys of the pillar by which a minion acts by itself: in shadow it has them of its Salt master alone."""


class StockDocuments:
    """The documents.

    Args:
        folder: where the one that is held is kept.
        minion_id: of the minion.
        shadow_at_first: whether it is in shadow as long as no document says whether it is.
    """

    def __init__(self, folder: Path, minion_id: str, *, shadow_at_first: bool) -> None:
        self.state = DesiredState(folder)
        self._drift = DriftTimer(folder, minion_id)
        self._shadow_at_first = shadow_at_first
        self._read: Desired | None = None
        self._running: Desired | None = None
        self._is_there = asyncio.Event()
        self._follow()

    def held(self) -> Desired | None:
        """The one that the minion holds; None: none yet."""
        if self._read is None and self.state.digest:
            self._read = read_document(self.state.path).desired
        return self._read

    def in_shadow(self) -> bool:
        """Whether the minion may only be looked at, as the document that it holds says."""
        return self.state.drift.get("shadow") is True if self.state.digest else self._shadow_at_first

    async def accept(self, update: DesiredUpdate) -> str:
        """Hold another one. The function by which the minion is told of what it has to look at anew; empty: none.

        Those of all minions come at once: none waits for the disk under another's.

        Raises:
            PatchMismatch: the update is none of the document that is held.
        """
        before = self.held()
        stored = await asyncio.to_thread(self.state.stored, update)
        if stored is None:
            self.state.generation = update.generation
        else:
            self.state.remember(stored)
        self._read = None
        self._follow()
        after = self.held()
        if after is None or self.in_shadow():
            return ""
        if after.modules != (before.modules if before is not None else {}):
            return "saltutil.sync_all"  # it asks for its pillar as well
        return "saltutil.refresh_pillar" if before is None or before.pillar != after.pillar else ""

    def run_with(self, desired: Desired | None) -> None:
        """While this one runs, the minion has its pillar; None: that which it holds."""
        self._running = desired

    def due_check(self, now: float) -> Run | None:
        """The check for drift that is due at `now`, in seconds since the epoch; None: none is."""
        return self._drift.run_now(self.state, now) if self.state.digest and self._drift.due_at <= now else None

    async def pillar(self) -> Mapping[str, Any]:
        """The pillar of the one that runs, or that is held; the first one is waited for."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PILLAR_SECONDS):
                await self._is_there.wait()
        desired = self._running or self.held()
        pillar: Mapping[str, Any] = {} if desired is None else desired.pillar
        return {key: value for key, value in pillar.items() if not (key in _ACTS and self.in_shadow())}

    def top_sls(self) -> Mapping[str, Sequence[str]]:
        """The SLS that the states of the one that is held came from, by saltenv."""
        desired, found = self.held(), dict[str, dict[str, None]]()
        for chunk in desired.chunks.values() if desired is not None else ():
            found.setdefault(chunk.saltenv, {})[chunk.sls] = None
        return {saltenv: list(names) for saltenv, names in found.items()}

    def _follow(self) -> None:
        """Another one is held."""
        self._drift.follow(self.state.drift, time.time())
        if self.state.digest:
            self._is_there.set()
