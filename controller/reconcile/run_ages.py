"""How long ago runs were asked for, when the clock of the machine was set meanwhile. Used by `Reconciler`."""

from __future__ import annotations

from reactors.clock_steps import Clock, steady_beside


class RunAges:
    """Ages of open runs, one of each minion.

    Args:
        clock: seconds since the epoch.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._steady = clock, steady_beside(clock)
        self._since: dict[str, tuple[str, float]] = {}
        """Minion -> its open run, and when that was asked for by the steady clock."""

    def asked_at(self, minion: str, run_id: str, asked_at: float) -> float:
        """When a run was asked for, in seconds since the epoch of the clock as it is now.

        `asked_at`: what the store has, which counts when a run is seen first: just after it was asked for, or at the
        start of the controller.
        """
        now, steady = self._clock(), self._steady()
        known = self._since.get(minion)
        if known is None or known[0] != run_id:
            known = self._since[minion] = (run_id, steady - max(0.0, now - asked_at))
        return now - (steady - known[1])
