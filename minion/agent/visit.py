"""When an agent ends that a controller has started for a visit (`minion.visit`).

Part of the agent. Such an agent has neither beacons nor schedules of its own: nobody is there for what they find.
"""

from __future__ import annotations

QUIET_SECONDS = 0.5
"""That nothing is on its way before it ends: a call may just be arriving."""


class AgentVisit:
    """The visit.

    Args:
        checks_drift: whether drift is looked for, once; the controller knows when that is due.
    """

    def __init__(self, *, checks_drift: bool) -> None:
        self.checks_drift = checks_drift
        self._asked = False
        self._quiet_from = float("inf")
        self.due_at = float("inf")
        """When to look again."""

    def take_drift_check(self, *, possible: bool) -> bool:
        """Whether drift is to be looked for now: once it is possible."""
        if not (self.checks_drift and possible):
            return False
        self.checks_drift = False
        return True

    def finish(self) -> None:
        """Nobody wants anything more. Safe to call from a signal handler."""
        self._asked = True

    def is_over(self, now: float, *, busy: bool) -> bool:
        """Whether the agent may end.

        Args:
            now: monotonic.
            busy: whether something runs, or waits to be told.
        """
        if not self._asked:
            return False
        if busy:
            self._quiet_from = float("inf")
            self.due_at = now + QUIET_SECONDS
            return False
        self._quiet_from = min(self._quiet_from, now)
        self.due_at = self._quiet_from + QUIET_SECONDS
        return now >= self.due_at
