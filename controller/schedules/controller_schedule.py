"""Runs the jobs of the controller's schedule: those of its file, and those of the live `saltern.yaml`.

When a job ran last is on disk before it is begun, so that a controller that starts again neither runs it twice nor
waits for a whole interval anew. Each run is an event, `saltern/schedule/NAME/run`, which its jobs and runners have
as their cause; the history says that `schedule NAME` asked.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import structlog

from controller.jobs.jobs import DEADLINE, Jobs
from controller.jobs.targets import Targets
from controller.reconcile.live import LiveRevision
from controller.runners.runner_jobs import ControllerCall, RunnerJobs
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.targets import TargetExpression
from minion.machine.durable_files import write_durably
from reactors.bus import Bus
from reactors.controller_jobs import ControllerJob, ControllerJobs
from wire.messages import RunResult

log = structlog.get_logger("saltern.schedule")

LOOK_SECONDS = 1.0
"""Between two looks whether the schedule has changed, while there is one."""
LONGEST_LOOK = 5.0
"""While there is none."""


@dataclass(slots=True)
class _Planned:
    entry: ControllerJob
    due: float | None


@dataclass(slots=True, kw_only=True)
class ControllerSchedule:
    """The schedule of one controller. Times are seconds since the epoch."""

    file: Path
    """Where it is kept when jobs ran last."""
    own: ControllerJobs
    """Of the controller's file; of two jobs with one name this counts."""
    live: LiveRevision
    runners: RunnerJobs
    jobs: Jobs
    targets: Targets
    bus: Bus
    clock: Callable[[], float]
    _planned: dict[str, _Planned] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)
    _going_on: dict[str, set[asyncio.Future[Any]]] = field(default_factory=dict)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)

    async def run(self) -> None:
        """Run jobs until cancelled."""
        self._last = await asyncio.to_thread(_read, self.file)
        try:
            while True:
                now = self.clock()
                self._follow(now)
                for name in [name for name, one in self._planned.items() if one.due is not None and one.due <= now]:
                    await self._run(name, now)
                due = min((one.due for one in self._planned.values() if one.due is not None), default=float("inf"))
                most = LOOK_SECONDS if self._planned else LONGEST_LOOK
                await asyncio.sleep(max(0.0, min(most, due - self.clock())))
        finally:
            for task in self._tasks:
                task.cancel()

    def _follow(self, now: float) -> None:
        """Plan new and changed jobs; the others keep their time."""
        entries: Mapping[str, ControllerJob] = {**self.live.policy.schedule.jobs, **self.own.jobs}
        for name in [name for name in self._planned if name not in entries]:
            del self._planned[name]
        for name, entry in entries.items():
            known = self._planned.get(name)
            if known is None or known.entry.job != entry.job:
                self._planned[name] = _Planned(entry, self._first(name, entry, now, changed=known is not None))

    def _first(self, name: str, entry: ControllerJob, now: float, *, changed: bool) -> float | None:
        """When a job that was not followed is due."""
        job, last = entry.job, self._last.get(name)
        if not job.enabled:
            return None
        if job.at_start and (last is None or (entry.each_start and not changed)):
            return now
        if last is not None and not entry.is_interval and entry.missed:
            due = job.due(previous=last, now=last + 1.0, chance=0.0)
            return due if due is None or due > now else now
        return job.due(previous=last if last is not None else now, now=now, chance=_chance())

    async def _run(self, name: str, now: float) -> None:
        planned = self._planned[name]
        entry, job = planned.entry, planned.entry.job
        planned.due = job.due(previous=now, now=now + 1.0, chance=_chance())
        alive = {one for one in self._going_on.get(name, ()) if not one.done()}
        self._going_on[name] = alive
        why = "maxrunning" if len(alive) >= job.at_most else job.refusal(now)
        about = {"schedule": name, "fun": job.fun, "target": entry.target, "metadata": entry.metadata}
        if why:
            if (held := job.held_until(now, why)) is not None:
                planned.due = held
            elif why == "until_passed":
                planned.due = None
            self.bus.publish(f"saltern/schedule/{name}/skipped", {**about, "why": why})
            log.info("scheduled job skipped", job=name, why=why)
            return
        self._last[name] = now
        try:
            await asyncio.to_thread(write_durably, self.file, msgspec.json.encode(self._last))
        except OSError as error:
            log.error("when a job ran is not kept; a restart may run it again", job=name, error=str(error))
        event = self.bus.publish(f"saltern/schedule/{name}/run", about)
        try:
            await self._begin(name, entry, event.id)
        except Exception as error:  # the border of one job: the others go on
            self.bus.publish(f"saltern/schedule/{name}/error", {**about, "error": str(error)}, cause=event.id)
            log.error("scheduled job failed", job=name, exc_info=None if isinstance(error, ServiceError) else error)

    async def _begin(self, name: str, entry: ControllerJob, cause: int) -> None:
        job, user = entry.job, f"schedule {name}"
        if not entry.target:
            call = ControllerCall(
                kind="runner", fun=job.fun, args=job.args, kwargs=dict(job.kwargs), user=user, cause=cause
            )
            self._going_on[name].add((await self.runners.start(call)).ended)
            return
        target = TargetExpression(kind=entry.tgt_type, expression=entry.target)  # type: ignore[arg-type]
        minions = await asyncio.to_thread(self.targets.select, target)
        question = CallQuestion(
            target=target, fun=job.fun, args=job.args, kwargs=dict(job.kwargs), limit=0.0, timeout=0.0
        )
        asked = self.jobs.start(minions, question, user=user, cause=cause)
        task = asyncio.create_task(self._gather(asked), name=user)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self._going_on[name].add(task)

    async def _gather(self, asked: Mapping[str, tuple[str, asyncio.Future[RunResult] | None]]) -> None:
        async for _ in self.jobs.gather(asked, DEADLINE):
            pass


def _chance() -> float:
    return secrets.randbelow(1 << 20) / (1 << 20)


def _read(file: Path) -> dict[str, float]:
    try:
        return msgspec.json.decode(file.read_bytes(), type=dict[str, float])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.MsgspecError) as error:
        log.error("when jobs ran last is not known", file=str(file), error=str(error))
        return {}
