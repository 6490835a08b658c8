"""Runs that have no result yet: how long ago they were asked for, and which of them change nothing.

Used by `Reconciler`.
"""

from __future__ import annotations

from controller.reconcile.deciding.observed_state import OpenRun
from controller.sessions.sessions import Session
from controller.store import RunRecord, Store
from reactors.clock_steps import Clock, steady_beside

TEST_KINDS = ("drift", "preview")
"""Kinds of the runs of `OpenTests`."""


class RunAges:
    """Ages of open runs, one of each minion.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Clock) -> None:
        self._steady = steady_beside(clock)
        self._since: dict[str, tuple[str, float]] = {}
        """Minion -> its open run, and when that was asked for by the steady clock."""

    def begun(self, run: RunRecord) -> None:
        """The minion is asked for a run."""
        self._since[run.minion] = (run.run_id, self._steady())

    def asked_at(self, minion: str, run_id: str, asked_at: float, now: float) -> float:
        """When a run was asked for, in seconds since the epoch of the clock that said `now`.

        `asked_at`: what the store has, which counts when a run is seen first at the start of the controller.
        `now`: what the answer is compared with; the clock may have been set since it was read.
        """
        steady = self._steady()
        known = self._since.get(minion)
        if known is None or known[0] != run_id:
            known = self._since[minion] = (run_id, steady - max(0.0, now - asked_at))
        return now - (steady - known[1])


class OpenTests:
    """The runs without acts that the controller asked minions for: checks after pushes, `saltern sync --test`.

    A minion that ends in such a run does not take it up again, so it is asked once more when it is back.

    Args:
        store: has those that were open when the controller ended.
        clock: seconds since the epoch.
    """

    def __init__(self, store: Store, clock: Clock) -> None:
        self._steady = steady_beside(clock)
        self._open: dict[str, dict[str, tuple[RunRecord, float]]] = {}
        """Minion -> id -> run, and when it was asked for by the steady clock."""
        for run in reversed(store.runs.newest(kinds=TEST_KINDS, open_only=True, limit=None)):
            if not run.fun:  # else it is a job, which looks after its own runs
                self.begun(run, ago=max(0.0, clock() - run.created))

    def begun(self, run: RunRecord, *, ago: float = 0.0) -> None:
        """The minion was asked for a run so many seconds ago."""
        since = self._steady() - ago
        self._open.setdefault(run.minion, {})[run.run_id] = run, since

    def ended(self, run: RunRecord) -> None:
        """It has a result, or nobody waits for one."""
        runs = self._open.get(run.minion, {})
        runs.pop(run.run_id, None)
        if not runs:
            self._open.pop(run.minion, None)

    def of(self, minion: str, session: Session | None, now: float) -> tuple[OpenRun, ...]:
        """Those of a minion, oldest first. `session`: its connection; `now`: see `RunAges.asked_at`."""
        return tuple(
            OpenRun(
                run_id=run.run_id,
                digest=run.digest,
                sent=session is not None and run.run_id in session.sent,
                asked_at=now - (self._steady() - since),
                whole=run.keys is None,
            )
            for run, since in self._open.get(minion, {}).values()
        )
