"""Previews of pull requests: one waits or is made for each, and few are made at a time.

Used by `reconciler`. What ends here is only noted and handed to the next look; nothing is stored here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import structlog

from controller.preview.live.head_documents import HeadDocuments
from controller.pull_requests.instructions import RunningPreview
from controller.schema.errors import ServiceError
from controller.schema.reports import PreviewReport

log = structlog.get_logger("saltern.pulls")


class PullKey(NamedTuple):
    """Names a pull request."""

    forge: str
    project: str
    number: int

    def __str__(self) -> str:
        return f"{self.forge}:{self.project}#{self.number}"


class MakePreview(Protocol):
    """Makes the preview of a pull request. Raises ServiceError when it cannot be made; ends when it is cancelled."""

    def __call__(self, key: PullKey, running: RunningPreview, target: str) -> Awaitable[PreviewReport | HeadDocuments]:
        """`target`: a glob of minion ids; empty: all. Documents where `running` names minions."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A preview has ended."""

    running: RunningPreview
    report: PreviewReport | None
    failure: str = ""
    documents: HeadDocuments | None = None


class QueueTurn(NamedTuple):
    """Where a preview is in the queue."""

    begun: bool
    """Whether it is made; else it waits."""
    since: float
    """Seconds since the epoch."""


@dataclass(slots=True)
class _Job:
    running: RunningPreview
    target: str
    turn: asyncio.Event
    """Set when it may begin."""
    number: int
    """How many were started before it."""
    since: float
    """When it was started, or its turn came; in seconds since the epoch."""
    task: asyncio.Task[None] | None = None

    @property
    def rank(self) -> tuple[bool, float, int]:
        """The smallest is made next: what somebody waits for in its order, then newer bases of the newest heads."""
        again = self.running.again
        return again, -self.running.head_at if again else 0.0, self.number


class PreviewQueue:
    """Previews that wait, are made, and have ended and are not looked at yet.

    Args:
        make: one preview.
        finished: called when one has ended, with its pull request, what came of it, and its seconds.
        at_once: how many are made at a time.
        limit: seconds that one may take.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        make: MakePreview,
        finished: Callable[[PullKey, Finished, float], None],
        *,
        at_once: int,
        limit: float,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._clock = clock
        self._make = make
        self._finished = finished
        self._at_once = at_once
        self._made_now = 0
        self._started = 0
        self._limit = limit
        self._jobs: dict[PullKey, _Job] = {}
        self._ended: dict[PullKey, Finished] = {}

    def running(self, key: PullKey) -> RunningPreview | None:
        """What waits or is made for a pull request."""
        job = self._jobs.get(key)
        return None if job is None else job.running

    def turn(self, key: PullKey) -> QueueTurn | None:
        """Whether what `running` gives is made now, and since when."""
        job = self._jobs.get(key)
        return None if job is None else QueueTurn(begun=job.turn.is_set(), since=job.since)

    def start(self, key: PullKey, running: RunningPreview, target: str) -> None:
        """Make a preview when its turn comes, in place of the one before."""
        self.cancel(key)
        self._started += 1
        job = self._jobs[key] = _Job(running, target, asyncio.Event(), self._started, self._clock())
        job.task = asyncio.create_task(self._run(key, job), name=f"preview {key}")
        job.task.add_done_callback(lambda _: self._left(job))  # also when it is cancelled before its first step
        self._begin_next()

    def cancel(self, key: PullKey) -> None:
        """End the preview of a pull request, and forget what came of it."""
        self._ended.pop(key, None)
        job = self._jobs.pop(key, None)
        if job is not None and job.task is not None:
            job.task.cancel()

    def take(self, key: PullKey) -> Finished | None:
        """What ended since the last look."""
        return self._ended.pop(key, None)

    async def close(self) -> None:
        """End all."""
        tasks = [job.task for job in self._jobs.values() if job.task is not None]
        self._jobs.clear()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, key: PullKey, job: _Job) -> None:
        loop = asyncio.get_running_loop()
        await job.turn.wait()
        began = loop.time()
        finished = await self._made(key, job)
        if self._jobs.get(key) is job:
            del self._jobs[key]
            self._ended[key] = finished
            self._finished(key, finished, loop.time() - began)

    def _left(self, job: _Job) -> None:
        self._made_now -= job.turn.is_set()
        self._begin_next()

    def _begin_next(self) -> None:
        waiting = sorted((job for job in self._jobs.values() if not job.turn.is_set()), key=lambda job: job.rank)
        for job in waiting[: max(0, self._at_once - self._made_now)]:
            self._made_now += 1
            job.since = self._clock()
            job.turn.set()

    async def _made(self, key: PullKey, job: _Job) -> Finished:
        try:
            async with asyncio.timeout(self._limit):
                made = await self._make(key, job.running, job.target)
                if isinstance(made, HeadDocuments):
                    return Finished(job.running, None, documents=made)
                return Finished(job.running, made)
        except TimeoutError:
            failure = f"it took longer than {self._limit:g} s (limits: pull_request: preview_seconds)"
            return Finished(job.running, None, failure)
        except ServiceError as error:
            return Finished(job.running, None, f"{error}; {error.hint}" if error.hint else str(error))
        except Exception as error:  # the border of the task
            log.error("preview of a pull request failed", pull=str(key), exc_info=error)
            return Finished(job.running, None, "internal error; the controller's log has it")
