"""Drift that minions find by watching (`drift: watch: true`): which states are run to put it right, and how often.

Somebody who edits a managed file again and again, be it a person or a program, is answered at once a few times, then
with a back-off, which is told by an event. Called by the reconciler.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import structlog

from controller.observe.drift_classes import acts_each_time
from controller.observe.push_check import pending_in
from controller.reconcile.documents import Documents
from controller.reconcile.observation import NO_STREAK, Streak
from controller.reconcile.plan import with_triggered
from controller.store import StatusRow, Store
from reactors.bus import Bus
from reactors.remediation import TOUCHED_AT_ONCE, touched_rest

log = structlog.get_logger("saltern.reconcile")


@dataclass(slots=True, kw_only=True)
class TouchedStates:
    """What minions had to put right, and how often in a row; only back-off depends on that, so it may be forgotten."""

    store: Store
    documents: Documents
    bus: Bus
    _streaks: dict[str, Streak] = field(default_factory=dict)

    def streak(self, minion: str, now: float) -> Streak:
        """Remediations in a row of what was touched on a minion."""
        found = self._streaks.get(minion, NO_STREAK)
        if now - found.at > touched_rest(found.count):
            self._streaks.pop(minion, None)
            return NO_STREAK
        return found

    def begin(self, row: StatusRow, drift_run: str, now: float, cause: int) -> tuple[str, ...] | None:
        """The states to run for what a check found, with what they trigger and need; None: the whole highstate."""
        minion = row.minion.id
        streak = Streak(count=self.streak(minion, now).count + 1, at=now)
        self._streaks[minion] = streak
        desired = self.documents.desired(row.desired.digest if row.desired else "")
        acting = acts_each_time(self.store.drift.of(minion))
        keys = (pending_in(self.store, drift_run) - acting) & desired.chunks.keys()
        if streak.count == TOUCHED_AT_ONCE + 1:
            data = {"id": minion, "run": drift_run, "states": sorted(keys), "times": streak.count}
            log.warning("what is managed is changed again and again", minion=minion, states=sorted(keys))
            self.bus.publish(f"saltern/minion/{minion}/contested", data, cause=cause)
        return with_triggered(keys, desired) if keys else None
