"""When the minion checks for drift by itself, and the run that does it.

Part of the agent; works without a controller. The time of the last check is kept on disk, so that an agent that is
restarted more often than the interval still checks.
"""

from __future__ import annotations

import contextlib
import logging
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from minion.spool.desired_state import DesiredState
from reactors.schedule import BadSchedule, Every, Schedule, next_time, parse_schedule
from wire.messages import Run

log = logging.getLogger(__name__)

NO_SCHEDULE = frozenset(("watch", "ignore", "prune", "shadow"))
"""What else a document says about drift."""


def _chance() -> float:
    """From 0 up to 1."""
    return secrets.randbelow(1 << 20) / (1 << 20)


class DriftTimer:
    """The drift schedule of the desired document. Times are seconds since the epoch."""

    def __init__(self, cachedir: Path, minion_id: str) -> None:
        self._stamp = cachedir / "drift.stamp"
        self._id = minion_id
        self._given: Mapping[str, Any] = {}
        self._schedule: Schedule | None = None
        self.due_at = float("inf")
        self.problems: tuple[str, ...] = ()
        """Why no check is made, for the controller."""

    def follow(self, given: Mapping[str, Any], now: float) -> None:
        """The document in force has this schedule."""
        if given == self._given:
            return
        self._given = given
        try:
            self._schedule = parse_schedule({key: value for key, value in given.items() if key not in NO_SCHEDULE})
            self.problems = ()
        except BadSchedule as error:
            self._schedule = None
            self.problems = (f"drift is not checked: {error}",)
            log.error("event=drift_schedule_refused error=%s", error)
        self._plan(now)

    def run_now(self, desired_state: DesiredState, now: float) -> Run:
        """The check that is due: the whole document, changing nothing."""
        self._stamp.touch(mode=0o600)
        os.utime(self._stamp, (now, now))
        self._plan(now)
        return Run(
            run_id=f"drift-{self._id}-{int(now * 1000):012x}{secrets.token_hex(5)}",
            kind="drift",
            generation=desired_state.generation,
            digest=desired_state.digest,
            test=True,
        )

    def clock_set(self, step: float, now: float) -> None:
        """The clock of the machine was set by so many seconds: what is due after an interval is due as before."""
        if isinstance(self._schedule, Every):
            self.due_at += step
            with contextlib.suppress(FileNotFoundError):
                last = self._stamp.stat().st_mtime + step
                os.utime(self._stamp, (last, last))
        else:
            self._plan(now)

    def _plan(self, now: float) -> None:
        self.due_at = float("inf")
        if self._schedule is None:
            return
        try:
            previous = min(self._stamp.stat().st_mtime, now)
        except FileNotFoundError:
            # Minions that get their first documents together would else be checked together for ever.
            each = self._schedule.seconds if isinstance(self._schedule, Every) else 0.0
            previous = now - each * _chance()
        chance = _chance()
        due = next_time(self._schedule, previous=previous, now=now, chance=chance)
        if due is not None:
            self.due_at = due
