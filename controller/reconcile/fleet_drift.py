"""What differs on many minions from what they have applied, for `saltern diff` of the fleet. Reads only."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from controller.reconcile.status import Status
from controller.schema.plans import DriftView
from controller.store import StatusRow

_TOGETHER = 50
"""Minions that are looked at before others have their turn on the loop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundDrift:
    """What differs on a minion."""

    states: tuple[DriftView, ...] = ()
    ignored: int = 0
    """States of which something differs that policy ignores."""
    unnamed: int = 0
    """Resources that no state names any more."""


@dataclass(frozen=True, slots=True)
class FleetDrift:
    """Looks."""

    status: Status

    async def of(self, rows: Sequence[StatusRow]) -> dict[str, FoundDrift]:
        """Minion -> what differs; of those where something does."""
        unnamed, seen = self.status.store.prune_reports.told(), list[tuple[StatusRow, bool]]()
        for start in range(0, len(rows), _TOGETHER):
            some = rows[start : start + _TOGETHER]
            seen += [(row, self.status.reconciler.observed(row).drift is not None) for row in some if row.last_drift]
            await asyncio.sleep(0)
        states = await asyncio.to_thread(self._states, seen)
        ids = (row.minion.id for row in rows)
        told = {each: states.get(each, FoundDrift()) for each in ids if each in states or each in unnamed}
        return {
            minion: FoundDrift(states=each.states, ignored=each.ignored, unnamed=unnamed.get(minion, (0, ""))[0])
            for minion, each in told.items()
        }

    def _states(self, seen: Sequence[tuple[StatusRow, bool]]) -> dict[str, FoundDrift]:
        found = {}
        for row, drifted in seen:
            states, ignored, _ = self.status.drift(row, drifted=drifted)
            if states or ignored:
                found[row.minion.id] = FoundDrift(states=states, ignored=len(ignored))
        return found
