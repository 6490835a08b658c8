"""Which event a run follows from, so that the history shows the chain from a push to what came of it.

Used by `Reconciler`, and by who handles what minions tell of their runs.
"""

from __future__ import annotations

from controller.store import RunRecord, Store
from reactors.bus import Bus


class RunCauses:
    """Events of the starts of open runs, and of what minions reported last.

    Args:
        store: has the events from before a restart.
        bus: where events are published.
    """

    def __init__(self, store: Store, bus: Bus) -> None:
        self._store, self._bus = store, bus
        self._starts: dict[str, int] = {}
        """Open run -> id of the event of its start."""
        self._reports: dict[str, int] = {}
        """Minion -> id of the event of its newest run that failed or found drift."""

    def follow_run(self, run_id: str, event: int) -> None:
        """A run has begun: id of the event of its start."""
        self._starts[run_id] = event

    def forget_run(self, run_id: str) -> None:
        """A run has ended."""
        self._starts.pop(run_id, None)

    def open_run_event(self, run_id: str) -> int:
        """Id of the event of the start of a run that is open; 0 when it is not known."""
        return self._starts.get(run_id, 0)

    def run_event(self, run: RunRecord) -> int:
        """Id of the event of a run's start; 0 for a run that the minion began by itself."""
        known = self._starts.get(run.run_id)
        if known is not None or run.kind not in ("apply", "remediate"):
            return known or 0
        event = self._store.events.newest(run.minion, [f"saltern/run/{run.run_id}/new"])  # from before a restart
        return event.id if event is not None else 0

    def reported(self, minion: str, event: int) -> None:
        """A run of a minion failed, or found drift: id of the event that says so."""
        self._reports[minion] = event

    def report(self, minion: str) -> int:
        """Id of the event of a minion's newest run that failed or found drift; 0 where there is none."""
        return self._reports.get(minion, 0)

    def minion_went_back(self, run: RunRecord, back_from: str) -> None:
        """A minion tells that it went back by itself from what nobody confirmed."""
        data = {"id": run.minion, "run": run.run_id, "from": back_from, "cause": run.reason}
        event = self._bus.publish(f"saltern/minion/{run.minion}/went-back", data, revision=run.revision)
        self._starts[run.run_id] = event.id

    def minion_remediated(self, run: RunRecord, drift_run: str) -> None:
        """A minion tells of a run that it began by itself: it follows from what it had found before."""
        data = {"id": run.minion, "run": run.run_id, "drift": drift_run, "cause": run.reason}
        cause = self.report(run.minion)
        event = self._bus.publish(f"saltern/minion/{run.minion}/remediated", data, cause=cause, revision=run.revision)
        self._starts[run.run_id] = event.id
