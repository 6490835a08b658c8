"""What the signals mean that a process of ours may get while it runs states or a function.

Followed by the worker and by `saltern call`; the agent sends the second kind to its workers when it ends.

SIGTERM  end for good: what goes on may end by itself within the grace, the other states are not run, and the result
         says so.
SIGHUP   leave off, the agent ends: as above, but nothing is concluded from it, and the next agent goes on from there.

After the grace the commands that still run are ended, SIGTERM first. A function of Python cannot be ended so: where a
run is left off, its process ends in the middle of it, which the journal stands.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from types import FrameType

from minion.processes import end_descendants

HARD_AFTER = 10.0
"""Seconds after the grace until a process that was to leave off is ended in the middle of whatever it does."""

EX_TEMPFAIL = 75


class Stop:
    """Whether and how this process was asked to stop."""

    def __init__(self, grace: float, *, has_agent: bool) -> None:
        """`grace`: seconds that states have to end by themselves."""
        self._grace = grace
        self._parent = os.getppid() if has_agent else 0
        self._came: list[int] = []
        self.patient = False
        """Whether states run, which get the grace; a lone function gets none."""

    def follow(self) -> None:
        """From now on the signals end nothing in the middle."""
        signal.signal(signal.SIGTERM, self._heard)
        if self._parent:
            signal.signal(signal.SIGHUP, self._heard)

    def asked(self) -> bool:
        """Whether to stop."""
        return bool(self._came)

    def left_off(self) -> bool:
        """Whether another worker is to go on from here: the agent ends, or has ended."""
        if not self._came or not self._parent:
            return False
        return signal.SIGHUP in self._came or os.getppid() != self._parent

    def sleep(self, seconds: float) -> None:
        """Sleep until then, or until asked to stop."""
        until = time.monotonic() + seconds
        while not self._came and (left := until - time.monotonic()) > 0:
            time.sleep(min(left, 0.2))

    def _heard(self, number: int, frame: FrameType | None) -> None:
        self._came.append(number)
        if len(self._came) == 1:
            threading.Thread(target=self._end_commands, daemon=True).start()

    def _end_commands(self) -> None:
        """End what hangs, as often as something new does. Ends with the process."""
        time.sleep(self._grace if self.patient else 0)
        hard, number = time.monotonic() + HARD_AFTER, signal.SIGTERM
        while True:
            end_descendants(number)
            number = signal.SIGKILL
            time.sleep(1)
            if time.monotonic() > hard and self.left_off():
                os._exit(EX_TEMPFAIL)
