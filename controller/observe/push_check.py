"""The check after a push: a minion that ran a part of its highstate plans the whole once, without acts.

What it finds was missed by the plan of the push (`controller.reconcile.plan`), and is reported, counted and, by policy,
applied. States that were known to drift before the push are not counted. Called by the reconciler.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import structlog

from controller.observe.drift_classes import acts_each_time
from controller.observe.metrics import Metrics
from controller.store import RunRecord, StatusRow, Store
from reactors.bus import Bus

log = structlog.get_logger("saltern.reconcile")

REASON = "check after "
"""How the reason of a check begins; the id of the run follows."""


@dataclass(frozen=True, slots=True)
class _Missed:
    """States with something to do, by the check that found them."""

    run_id: str
    keys: frozenset[str]


@dataclass(slots=True, kw_only=True)
class PushChecks:
    """The checks of all minions. A controller that starts again knows of none: the next push or drift check looks."""

    store: Store
    bus: Bus
    metrics: Metrics
    checked: dict[str, str] = field(default_factory=dict)
    """Minion -> the newest run after which it was asked for a check."""
    _known: dict[str, frozenset[str]] = field(default_factory=dict)
    _missed: dict[str, _Missed] = field(default_factory=dict)

    def begin(self, row: StatusRow, run_id: str) -> str:
        """Remember that a check is made after a run; the reason of the check."""
        self.checked[row.minion.id] = run_id
        before = row.last_drift
        drifted = before is not None and before.changes > 0  # else there is no state with something to do in its result
        self._known[row.minion.id] = pending_in(self.store, before.run_id) if before and drifted else frozenset()
        return REASON + run_id

    def missed_in(self, minion: str) -> str:
        """Id of the check that found something, until that is applied."""
        found = self._missed.get(minion)
        return found.run_id if found is not None else ""

    def take(self, minion: str) -> frozenset[str]:
        """Keys of the states that were missed; they are forgotten here."""
        return self._missed.pop(minion).keys

    def ended(self, run: RunRecord, outcome: str, cause: int) -> None:
        """A drift check ended; tell what it found when it was made after a push."""
        self._missed.pop(run.minion, None)
        if not run.reason.startswith(REASON) or outcome != "pending":
            return
        apart = self._known.pop(run.minion, frozenset()) | acts_each_time(self.store.drift.of(run.minion))
        keys = pending_in(self.store, run.run_id) - apart
        if not keys:
            return
        self._missed[run.minion] = _Missed(run.run_id, keys)
        self.metrics.missed_by_plan(len(keys))
        log.warning("missed by the plan of a push", minion=run.minion, run_id=run.run_id, states=sorted(keys))
        data = {"id": run.minion, "run": run.run_id, "states": sorted(keys)}
        self.bus.publish(f"saltern/minion/{run.minion}/missed", data, cause=cause)


def pending_in(store: Store, run_id: str) -> frozenset[str]:
    """Keys of the states that a test run found to have something to do."""
    result: Mapping[str, Any] = store.runs.result(run_id) or {}
    states: Mapping[str, Mapping[str, Any]] = result.get("states") or {}
    return frozenset(key for key, state in states.items() if state.get("result") is None)
