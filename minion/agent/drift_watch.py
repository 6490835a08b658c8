"""Drift checks of the states whose files or services somebody else has just changed (`drift: watch: true`).

Part of the agent. The process of the beacons says what was touched (`minion.beacons.watched_states`); here is decided
when it is checked. What is changed again and again is checked less and less often, so that a program which writes a
managed file all the time does not keep the machine busy. What a check finds the controller treats as any drift.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from minion.spool.desired_state import DesiredState
from wire.messages import Run

WATCHED = "driftwatch-"
"""How ids of these checks begin. They are told to the controller only when they have found something."""

SHORTEST_PAUSE = 0.2
"""Seconds between two checks; twice as long each time that the next comes at once, up to `LONGEST_PAUSE`."""

LONGEST_PAUSE = 60.0

ANSWER_SECONDS = 2.0
"""After a check has found something: until the next one, so that the controller can have it put right before."""


class DriftWatch:
    """What was touched and is not yet checked. Times are monotonic seconds."""

    def __init__(self, minion_id: str) -> None:
        self._id = minion_id
        self._touched: set[str] = set()
        self._digest = ""
        self._not_before = 0.0
        self._answered_by = 0.0
        self._pause = SHORTEST_PAUSE
        self._found = False
        self.whole_wanted = False
        """Whether the whole highstate is to be checked: what was found before is in order again, by other hands."""

    def touched(self, keys: Iterable[str], digest: str) -> None:
        """These states of the document with this digest were touched."""
        if digest != self._digest:
            self._touched.clear()
        self._digest = digest
        self._touched.update(keys)

    def due_at(self, digest: str, *, busy: bool) -> float:
        """When `take` has something. `digest`: of the document in force; `busy`: states run or wait."""
        waits = busy or not self._touched or digest != self._digest
        return float("inf") if waits else max(self._not_before, self._answered_by)

    def take(self, desired_state: DesiredState, now: float, wall: float) -> Run:
        """The check that is due; `wall`: seconds since the epoch."""
        again = now - self._not_before <= self._pause
        self._pause = min(2 * self._pause, LONGEST_PAUSE) if again else SHORTEST_PAUSE
        self._not_before = now + self._pause
        keys, self._touched = tuple(sorted(self._touched)), set()
        return Run(
            run_id=f"{WATCHED}{self._id}-{int(wall * 1000):012x}{secrets.token_hex(5)}",
            kind="drift",
            generation=desired_state.generation,
            digest=desired_state.digest,
            keys=keys,
            test=True,
        )

    def ended(self, run_id: str, outcome: str, now: float, *, changed_machine: bool) -> None:
        """A run of states has ended."""
        if changed_machine:
            self._found, self._answered_by = False, now
        elif run_id.startswith(WATCHED):
            self.whole_wanted = self.whole_wanted or (self._found and outcome == "ok")
            self._found = outcome != "ok"
            if self._found:
                self._answered_by = now + ANSWER_SECONDS
