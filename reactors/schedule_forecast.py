"""The next runs of the jobs of a schedule, as if it were loaded now. Pure.

Called by `saltern schedule next`. What a schedule leaves to chance (`splay`) is left out.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from typing import NamedTuple

from reactors.scheduled_jobs import ScheduledJob

_MOST_STEPS = 100_000
"""Times that are looked at: a job that may never run must not be looked for without end."""
LOOK_SECONDS = 2.0
"""For which a further run is looked for."""
_HORIZON = 10 * 366 * 86_400.0
"""Seconds."""


class DueJob(NamedTuple):
    """A run."""

    job: str
    at: float
    """Seconds since the epoch."""


def next_runs(jobs: Mapping[str, ScheduledJob], now: float, count: int) -> list[DueJob]:
    """The first `count` runs from `now` on, by time and name; fewer where there are no more within ten years, or where
    none is found for `LOOK_SECONDS`: each minute of a cron job whose range is over is looked at.

    Jobs that run at the start (`run_on_start`, which is the default of intervals) run at `now`, unless a range holds
    them back.
    """
    waiting: list[tuple[float, str]] = []
    for name, job in jobs.items():
        due = now if job.at_start else job.due(previous=now, now=now, chance=0.0)
        if job.enabled and due is not None:
            waiting.append((due, name))
    heapq.heapify(waiting)
    found: list[DueJob] = []
    ends = time.monotonic() + LOOK_SECONDS
    for _ in range(_MOST_STEPS):
        if not waiting or len(found) >= count or waiting[0][0] > now + _HORIZON or time.monotonic() > ends:
            break
        at, name = heapq.heappop(waiting)
        job = jobs[name]
        why = job.refusal(at)
        held = job.held_until(at, why) if why else None
        if not why:
            found.append(DueJob(name, at))
            ends = time.monotonic() + LOOK_SECONDS
        due = held if held is not None else job.due(previous=at, now=at + 1.0, chance=0.0)
        if due is not None and why != "until_passed":
            heapq.heappush(waiting, (due, name))
    return found
