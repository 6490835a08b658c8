"""How a process that runs states or a function ends on a signal.

Used by the worker and by `saltern call`; the agent sends SIGHUP to its workers when it ends.

SIGTERM  end: the current state may finish within the grace, the other states are not run, and the result says so.
SIGHUP   suspend: as above, but there is no result; the next agent resumes the run.

After the grace the commands that still run are ended, with SIGTERM first; package managers are left to finish. A
function of Python cannot be ended so: a process that is to suspend then ends in the middle of it, and the journal says
where.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

from minion.processes import end_descendants

HARD_AFTER = 10.0
"""Seconds after the grace until a process that was to suspend ends in the middle of what it does."""

EX_TEMPFAIL = 75


class Stop:
    """Which of these signals this process has received."""

    def __init__(self, grace: float, *, has_agent: bool) -> None:
        """`grace`: seconds that the current state has to finish."""
        self._grace = grace
        self._parent = os.getppid() if has_agent else 0
        self._received: list[int] = []
        self.runs_states = False
        """Whether states run: they get the grace, a single function gets none."""

    def install(self) -> None:
        """Handle the signals from now on."""
        signal.signal(signal.SIGTERM, self._receive)
        if self._parent:
            signal.signal(signal.SIGHUP, self._receive)

    def requested(self) -> bool:
        """Whether a signal was received."""
        return bool(self._received)

    def suspended(self) -> bool:
        """Whether another worker is to resume the run: the agent ends, or has ended."""
        if not self._received or not self._parent:
            return False
        return signal.SIGHUP in self._received or os.getppid() != self._parent

    def sleep(self, seconds: float) -> None:
        """Sleep for so long, or until a signal comes."""
        until = time.monotonic() + seconds
        while not self._received and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))

    def _receive(self, number: int, frame: FrameType | None) -> None:
        self._received.append(number)
        if len(self._received) == 1:
            threading.Thread(target=self._end_commands, daemon=True).start()

    def _end_commands(self) -> None:
        """End commands that still run, again and again. Runs until the process ends."""
        time.sleep(self._grace if self.runs_states else 0)
        hard, number = time.monotonic() + HARD_AFTER, signal.SIGTERM
        while True:
            end_descendants(number)
            number = signal.SIGKILL
            time.sleep(1)
            if time.monotonic() > hard and self.suspended():
                os._exit(EX_TEMPFAIL)
