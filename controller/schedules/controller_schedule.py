"""Runs the jobs of the controller's schedule: those of its file, and those of the live `saltern.yaml`.

When a job ran last is on disk before it is begun, so that a controller that starts again neither runs it twice nor
waits for a whole interval anew. Each run is an event, `saltern/schedule/NAME/run`, which its jobs and runners have
as their cause; the history says that `schedule NAME` asked.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import structlog

from controller.jobs.jobs import DEADLINE, SCHEDULED, Jobs
from controller.jobs.targets import Targets
from controller.reconcile.live import LiveRevision
from controller.runners.runner_jobs import ControllerCall, RunnerJobs
from controller.schedules.switches import Switches
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.schedules import ScheduledJobView, ScheduleRunView, ScheduleView, SwitchView
from controller.schema.targets import TargetExpression
from minion.machine.durable_files import write_durably
from reactors.bus import Bus
from reactors.clock_steps import ClockSteps
from reactors.controller_jobs import ControllerJob, ControllerJobs
from reactors.schedule import Cron, Every
from reactors.scheduled_jobs import ScheduledJob
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
    switches: Switches
    """What people enabled and disabled."""
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
    _loaded: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when it is known what ran and what is switched."""
    _switching: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def run(self) -> None:
        """Run jobs until cancelled."""
        self._last = await asyncio.to_thread(_read, self.file)
        await asyncio.to_thread(self.switches.read)
        self._loaded.set()
        try:
            steps = ClockSteps(self.clock)
            while True:
                now = self.clock()
                self._clock_set(steps.taken(), now)
                self._follow(now)
                for name in [name for name, one in self._planned.items() if one.due is not None and one.due <= now]:
                    await self._run(name, now)
                due = min((one.due for one in self._planned.values() if one.due is not None), default=float("inf"))
                most = LOOK_SECONDS if self._planned else LONGEST_LOOK
                await asyncio.sleep(max(0.0, min(most, due - self.clock())))
        finally:
            for task in self._tasks:
                task.cancel()

    def _clock_set(self, step: float, now: float) -> None:
        """The clock of the machine was set by so many seconds: what is due after an interval is due as before."""
        for one in self._planned.values() if step else ():
            if one.due is not None:
                job = one.entry.job
                one.due = one.due + step if one.entry.is_interval else job.due(previous=now, now=now, chance=_chance())

    async def view(self) -> ScheduleView:
        """The schedule as it is now."""
        await self._loaded.wait()
        self._follow(self.clock())
        jobs = tuple(self._job_view(name, entry) for name, entry in sorted(self._entries().items()))
        return ScheduleView(disabled=self.switches.disabled, jobs=jobs)

    async def start_now(self, name: str, *, user: str, force: bool = False) -> ScheduleRunView:
        """Begin a job at once, whatever its times and ranges say; these stay as they are. What was begun.

        `force`: also one that is disabled, and beside runs of it that go on. ServiceError when it cannot be begun.
        """
        await self._loaded.wait()
        entry = self._known(name)
        if not force and not entry.job.enabled:
            raise ServiceError("conflict", f"job {name!r} is disabled", hint="--force runs it all the same")
        if not force and len(alive := self._alive(name)) >= entry.job.at_most:
            message = f"{len(alive)} of job {name!r} go on, and maxrunning is {entry.job.at_most}"
            raise ServiceError("conflict", message, hint="--force begins one more")
        return await self._start(name, entry, user=user)

    async def switch(self, name: str, enabled: bool, *, user: str) -> ScheduleView:
        """Enable or disable a job, or with an empty name all. The schedule after it. ServiceError if that fails."""
        await self._loaded.wait()
        async with self._switching:
            one = SwitchView(enabled=enabled, user=user, at=self.clock())
            try:
                if name:
                    self._known(name)
                    written = self._written()
                    said = written[name].job.enabled
                    await asyncio.to_thread(self.switches.set, name, one, written=said, known=written.keys())
                else:
                    await asyncio.to_thread(self.switches.set_all, one)
            except OSError as error:
                raise ServiceError("internal", f"it cannot be kept, and nothing was changed: {error}") from error
        word = "enabled" if enabled else "disabled"
        tag = f"saltern/schedule/{name}/{word}" if name else f"saltern/schedule/{word}"
        self.bus.publish(tag, {**({"schedule": name} if name else {}), "user": user})
        return await self.view()

    def _written(self) -> Mapping[str, ControllerJob]:
        """The jobs as their files have them."""
        return {**self.live.policy.schedule.jobs, **self.own.jobs}

    def _entries(self) -> dict[str, ControllerJob]:
        """The jobs as they are in force: with what people enabled and disabled."""
        found = {}
        for name, entry in self._written().items():
            switch = self.switches.of(name)
            enabled = not self.switches.disabled and (switch.enabled if switch else entry.job.enabled)
            same = enabled == entry.job.enabled
            found[name] = entry if same else replace(entry, job=replace(entry.job, enabled=enabled))
        return found

    def _known(self, name: str) -> ControllerJob:
        entry = self._entries().get(name)
        if entry is None:
            raise ServiceError("not-found", f"no job {name!r}", hint="`saltern schedule list` shows all jobs")
        return entry

    def _job_view(self, name: str, entry: ControllerJob) -> ScheduledJobView:
        planned = self._planned.get(name)
        return ScheduledJobView(
            job=name,
            function=entry.job.fun,
            target=entry.target,
            tgt_type=entry.tgt_type if entry.target else "",
            when=_when(entry.job),
            enabled=entry.job.enabled,
            switch=self.switches.of(name),
            next=planned.due if planned else None,
            last=self._last.get(name),
            running=len(self._alive(name)),
            place=entry.place,
        )

    def _alive(self, name: str) -> set[asyncio.Future[Any]]:
        """The runs of a job that go on."""
        alive = self._going_on[name] = {one for one in self._going_on.get(name, ()) if not one.done()}
        return alive

    def _follow(self, now: float) -> None:
        """Plan new and changed jobs; the others keep their time."""
        entries = self._entries()
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
        planned = self._planned.get(name)
        if planned is None or planned.due is None or planned.due > now:
            return  # somebody changed the schedule while another job was begun
        entry, job, due = planned.entry, planned.entry.job, planned.due
        planned.due = job.due(previous=now, now=now + 1.0, chance=_chance())
        why = "maxrunning" if len(self._alive(name)) >= job.at_most else job.refusal(now, due=due)
        if why:
            if (held := job.held_until(now, why)) is not None:
                planned.due = held
            elif why == "until_passed":
                planned.due = None
            self.bus.publish(f"saltern/schedule/{name}/skipped", {**_about(name, entry), "why": why})
            log.info("scheduled job skipped", job=name, why=why)
            return
        self._last[name] = now
        try:
            await asyncio.to_thread(write_durably, self.file, msgspec.json.encode(self._last))
        except OSError as error:
            log.error("when a job ran is not kept; a restart may run it again", job=name, error=str(error))
        with contextlib.suppress(Exception):  # the border of one job: it is told, and the others go on
            await self._start(name, entry)

    async def _start(self, name: str, entry: ControllerJob, *, user: str = "") -> ScheduleRunView:
        """Begin a job, and tell of it; of an error, too, which is raised."""
        about = {**_about(name, entry), **({"user": user} if user else {})}
        event = self.bus.publish(f"saltern/schedule/{name}/run", about)
        try:
            return await self._begin(name, entry, event.id)
        except Exception as error:
            self.bus.publish(f"saltern/schedule/{name}/error", {**about, "error": str(error)}, cause=event.id)
            log.error("scheduled job failed", job=name, exc_info=None if isinstance(error, ServiceError) else error)
            raise

    async def _begin(self, name: str, entry: ControllerJob, cause: int) -> ScheduleRunView:
        job, user = entry.job, f"{SCHEDULED}{name}"
        going_on = self._going_on.setdefault(name, set())
        await self.jobs.returners.look(job.returners)
        if not entry.target:
            call = ControllerCall(
                kind="runner",
                fun=job.fun,
                args=job.args,
                kwargs=dict(job.kwargs),
                user=user,
                cause=cause,
                returners=self.jobs.returners.read(job.returners, job.return_config, job.return_kwargs),
            )
            run = await self.runners.start(call)
            going_on.add(run.ended)
            return ScheduleRunView(job=name, event=cause, jid=run.jid)
        target = TargetExpression(kind=entry.tgt_type, expression=entry.target)  # type: ignore[arg-type]
        minions = await asyncio.to_thread(self.targets.select, target, await self.targets.hosts(target))
        question = CallQuestion(
            target=target,
            fun=job.fun,
            args=job.args,
            kwargs=dict(job.kwargs),
            limit=0.0,
            timeout=0.0,
            ret=job.returners,
            ret_config=job.return_config,
            ret_kwargs=dict(job.return_kwargs),
        )
        asked = self.jobs.start(minions, question, user=user, cause=cause)
        task = asyncio.create_task(self._gather(asked), name=user)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        going_on.add(task)
        runs = {minion: "" if future is None else run for minion, (run, future) in asked.items()}
        return ScheduleRunView(job=name, event=cause, runs=runs)

    async def _gather(self, asked: Mapping[str, tuple[str, asyncio.Future[RunResult] | None]]) -> None:
        async for _ in self.jobs.gather(asked, DEADLINE):
            pass


def _about(name: str, entry: ControllerJob) -> dict[str, Any]:
    """What the events of a job say of it."""
    return {"schedule": name, "fun": entry.job.fun, "target": entry.target, "metadata": dict(entry.job.metadata)}


def _when(job: ScheduledJob) -> str:
    match job.times:
        case Every(seconds=seconds):
            return f"every {seconds:g} s"
        case Cron(expression=expression):
            text = f"cron {expression}"
        case times:
            text = ", ".join(str(one) for one in times.texts)
    return f"{text} {job.zone}".rstrip()


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
