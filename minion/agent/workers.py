"""Starts the workers of runs, and keeps one ahead for a while after a run.

A fork of the agent takes 2 ms, and its child 5 ms more until it has pages of its own for what a run touches. Runs come
together (a reaction, the check after a push, the steps of an orchestration), so that the next one finds a worker that
has done this already. It is given up when nothing came for a minute, and when it knows other grains than the agent.

A worker that waits holds nothing but its end of a socket, and reads all else, the modules of the tree included, when
it has its run.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from minion.processes import Child
from minion.spool.journal import RunFolder
from minion.worker.progress import ProgressSlot

log = logging.getLogger(__name__)

KEPT_SECONDS = 60.0
"""That a worker waits for a run."""


class Worker(NamedTuple):
    """A child that does one run, and what it says of its progress."""

    child: Child
    progress: ProgressSlot


class Workers:
    """Those of one agent."""

    def __init__(self, fork: Callable[[bool], Worker], grains: Callable[[], Mapping[str, Any]]) -> None:
        """`fork`: a child that does the run whose folder it is sent; True: that has time before. May raise OSError."""
        self._fork = fork
        self._grains = grains
        self._spare: Worker | None = None
        self._known: Mapping[str, Any] = {}
        """The grains of the spare one."""
        self._wanted = False
        self.due_at = float("inf")
        """When `tick` has something to do, in monotonic seconds."""

    def start(self, folder: RunFolder) -> Worker:
        """A worker that does what is requested in a folder. Raises OSError when there can be none."""
        spare = self._take()
        path = os.fsencode(folder.path)
        if spare is not None:
            if spare.child.send(path):
                return spare
            _end(spare)
        worker = self._fork(False)
        worker.child.send(path)  # one that has ended already is seen by the end of its socket
        return worker

    def ended(self) -> None:
        """A run has ended: another one may follow soon."""
        self._wanted = True

    def tick(self, now: float) -> None:
        """Begin and give up the spare one. After the results of runs were sent: a fork takes its time."""
        if self._spare is not None and (now >= self.due_at or self._known is not self._grains()):
            self.stop()
        if not self._wanted:
            return
        self._wanted = False
        self.due_at = now + KEPT_SECONDS
        if self._spare is None:
            self._known = self._grains()
            try:
                self._spare = self._fork(True)
            except OSError as error:
                self.due_at = float("inf")
                log.info("event=no_spare_worker error=%s", error)

    def stop(self) -> None:
        """Give up the spare one."""
        if (spare := self._take()) is not None:
            _end(spare)

    def _take(self) -> Worker | None:
        spare, self._spare, self.due_at = self._spare, None, float("inf")
        if spare is not None and self._known is not self._grains():
            _end(spare)
            return None
        return spare


def _end(worker: Worker) -> None:
    worker.child.signal(signal.SIGKILL)  # it has begun nothing
    worker.child.reap()
