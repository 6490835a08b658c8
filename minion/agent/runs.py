"""Runs and calls on this minion: taken in, put on disk, given to workers, ended.

Part of the agent. State runs (apply, remediate, drift, preview) go one at a time in the order in which they came;
calls go beside them, up to a bound. What a run does is the worker's affair.

When a worker ends without a result:
- of a state run: a new worker takes the run up again from its journal, until three in a row get no further; then the
  result is an error. Chunks are safe to repeat, and only a resumed run knows which watchers are owed their restart.
- of a call: the result is an error that says what is known. A call is never begun twice.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import msgspec

from minion.agent.schedule import UNTOLD
from minion.processes import Child, kill_holder
from minion.spool.desired_state import DesiredState
from minion.spool.journal import Request, RunFolder, RunFolders, error_result
from minion.spool.outbox import Outbox
from minion.worker.progress import ProgressSlot, ProgressTold
from wire.errors import PatchMismatch
from wire.messages import Call, Preview, ResyncRequired, Run, RunResult, RunStarted, ToController

log = logging.getLogger(__name__)

PARALLEL_CALLS = 8
"""Most calls at a time; the others wait."""

WORKERS = 20
"""Most workers that a state run gets within one life of the agent; the worker gives up earlier where it can."""

PARKED = 16
"""Runs that wait for a document that is not held yet; the oldest is dropped, and the controller asks again."""


@dataclass(slots=True)
class RunJob:
    """A run that has a worker, or waits for one."""

    request: Request
    folder: RunFolder
    child: Child | None = None
    deadline: float = float("inf")
    workers: int = 0
    timed_out: bool = False
    told: ProgressTold | None = None
    """While there is a worker, and progress is told."""

    @property
    def is_call(self) -> bool:
        """Whether it is an execution function."""
        return isinstance(self.request, Call)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What the runs need of their agent."""

    send: Callable[[ToController], bool]
    fork: Callable[[RunFolder, ProgressSlot], Child]
    ended: Callable[[Child], None]


class Jobs:
    """All runs that are not finished."""

    def __init__(
        self, cachedir: Path, desired_state: DesiredState, ports: RunPorts, *, tells_progress: bool = True
    ) -> None:
        self._tells_progress = tells_progress
        self._folders = RunFolders(cachedir)
        self.outbox = Outbox(cachedir, self._folders)
        self._holding = desired_state
        self._ports = ports
        self._jobs: dict[str, RunJob] = {}
        self._parked: dict[str, Run | Preview] = {}
        for folder in self._cut_off():
            request = folder.request()
            log.info("event=run_found run_id=%s", request.run_id)
            self._jobs[request.run_id] = RunJob(request, folder)

    def running(self) -> tuple[str, ...]:
        """Ids of the runs in progress or waiting."""
        return (*self._jobs, *self._parked)

    def states_waiting(self) -> bool:
        """Whether a state run is in progress or waiting."""
        return any(not job.is_call for job in self._jobs.values())

    def readers(self) -> list[int]:
        """Descriptors of the workers' sockets."""
        return [job.child.fd for job in self._jobs.values() if job.child is not None]

    def accept(self, request: Request) -> None:
        """Take in a run, unless it is known: then it is answered from what is there, or let be."""
        run_id = request.run_id
        if run_id in self._jobs:
            if self._jobs[run_id].child is not None:
                self._ports.send(RunStarted(run_id=run_id))
            return
        if self.outbox.send_again(run_id):
            return
        try:
            folder = self._folder_for(request)
        except PatchMismatch as error:
            self._answer(error_result(request, f"this preview cannot be made: {error}"), self._folders.of(run_id))
            return
        except OSError as error:
            self._answer(error_result(request, f"the run cannot be put on disk: {error}"), self._folders.of(run_id))
            return
        if folder is None:
            self._park(request)
            return
        self._parked.pop(run_id, None)
        self._jobs[run_id] = RunJob(request, folder)

    def document_changed(self) -> None:
        """Another document is held: runs that waited for it can begin; those of an older one never will."""
        for request in list(self._parked.values()):
            if request.digest == self._holding.digest:
                del self._parked[request.run_id]
                self.accept(request)
            elif isinstance(request, Run) and request.generation < self._holding.generation:
                del self._parked[request.run_id]
                why = f"its document {request.digest[:12]} was replaced by {self._holding.digest[:12]} before it came"
                self._answer(error_result(request, why), self._folders.of(request.run_id))

    def start_waiting(self, now: float) -> None:
        """Give workers to the runs whose turn it is."""
        calls = sum(job.is_call for job in self._jobs.values() if job.child is not None)
        states_busy = any(not job.is_call for job in self._jobs.values() if job.child is not None)
        for job in list(self._jobs.values()):
            if job.child is not None:
                continue
            if job.is_call and calls < PARALLEL_CALLS:
                calls += 1
                self._start(job, now)
            elif not job.is_call and not states_busy:
                states_busy = True
                self._start(job, now)

    def receive(self, fd: int, ask: Callable[[Child, bytes], None]) -> None:
        """A worker's socket is readable: pass on what it asks, or end its job."""
        job = next((job for job in self._jobs.values() if job.child is not None and job.child.fd == fd), None)
        if job is None or job.child is None:
            return
        frames, ended = job.child.receive()
        for frame in frames:
            ask(job.child, frame)
        if ended:
            self._end(job, job.child)

    def expire(self, now: float) -> None:
        """End the workers of calls that take too long, and say how far the others are."""
        for job in list(self._jobs.values()):
            if job.told is not None and (news := job.told.news(job.request.run_id, now)) is not None:
                self._ports.send(news)
            if job.child is not None and now >= job.deadline:
                job.timed_out = True
                job.deadline = float("inf")
                job.child.kill()
                kill_holder(job.folder.lock)

    def leave_off(self) -> None:
        """The agent ends: runs stop where they can be taken up again. Calls end by themselves."""
        for job in self._jobs.values():
            if job.child is not None and not job.is_call:
                job.child.signal(signal.SIGHUP)

    def next_deadline(self) -> float:
        """When `expire` has something to do."""
        told = (job.told.due for job in self._jobs.values() if job.told is not None)
        return min((*(job.deadline for job in self._jobs.values()), *told), default=float("inf"))

    def _folder_for(self, request: Request) -> RunFolder | None:
        """A folder with all that the run needs; None when its document is not held."""
        if isinstance(request, Call):
            return self._folders.create(request)
        if isinstance(request, Preview):
            return self._folders.create(request, self._holding.packed_preview(request))
        if request.digest != self._holding.digest:
            return None
        return self._folders.create(request, self._holding.path)

    def _park(self, request: Request) -> None:
        if isinstance(request, Call):
            return
        held = self._holding.digest
        log.info("event=run_waits_for_document run_id=%s digest=%s held=%s", request.run_id, request.digest, held)
        self._parked[request.run_id] = request
        if len(self._parked) > PARKED:
            del self._parked[next(iter(self._parked))]
        generation = request.generation if isinstance(request, Run) else 0
        self._ports.send(ResyncRequired(generation=generation, held=held))

    def _start(self, job: RunJob, now: float) -> None:
        job.workers += 1
        try:
            slot = ProgressSlot()
            job.child = self._ports.fork(job.folder, slot)
        except OSError as error:
            log.error("event=cannot_fork run_id=%s error=%s", job.request.run_id, error)
            return
        job.told = ProgressTold(slot, now) if self._tells_progress else None
        if isinstance(job.request, Call) and job.request.timeout > 0:
            job.deadline = now + job.request.timeout
        if job.workers == 1:
            self._ports.send(RunStarted(run_id=job.request.run_id))

    def _end(self, job: RunJob, child: Child) -> None:
        code = child.reap()
        self._ports.ended(child)
        job.child = job.told = None
        job.deadline = float("inf")
        if not job.folder.finished() and not job.is_call and job.workers < WORKERS:
            log.warning("event=worker_ended run_id=%s ended_by=%s resumed=true", job.request.run_id, _ending(code))
            return
        del self._jobs[job.request.run_id]
        if job.folder.finished():
            self._finished(job)
        else:
            self._answer(error_result(job.request, self._why(job, code)), job.folder)

    def _finished(self, job: RunJob) -> None:
        try:
            result = job.folder.result()
        except (OSError, msgspec.MsgspecError) as error:
            self._answer(error_result(job.request, f"the result cannot be read: {error}"), job.folder)
            return
        log.info("event=run_finished run_id=%s outcome=%s seconds=%.3f", result.run_id, result.outcome, result.seconds)
        self._add(result, job.folder)

    def _add(self, result: RunResult, folder: RunFolder) -> None:
        if result.run_id.startswith(UNTOLD):
            folder.remove()  # a job of the schedule that the controller is not to hear of
        else:
            self.outbox.add(result)

    def _answer(self, result: RunResult, folder: RunFolder) -> None:
        """A result that no worker made. With a full disk it is sent without being kept."""
        log.error("event=run_failed run_id=%s error=%s", result.run_id, result.error)
        try:
            folder.path.mkdir(mode=0o700, exist_ok=True)
            folder.finish(result)
        except OSError as error:
            log.error("event=result_not_kept run_id=%s error=%s", result.run_id, error)
            folder.remove()
            self._ports.send(result)
            return
        self._add(result, folder)

    def _cut_off(self) -> list[RunFolder]:
        """Runs of an earlier life without a result, in the order in which they came. Drift checks are not resumed."""
        found: list[tuple[int, RunFolder]] = []
        for folder in self._folders:
            if folder.finished():
                continue
            try:
                request = folder.request()
            except (OSError, msgspec.MsgspecError):
                folder.remove()  # a crash before the run was accepted: the controller asks again
                continue
            if isinstance(request, Run) and request.kind == "drift":
                folder.remove()
                continue
            found.append((folder.arrived(), folder))
        return [folder for _, folder in sorted(found, key=lambda pair: pair[0])]

    def _why(self, job: RunJob, code: int) -> str:
        if job.timed_out and isinstance(job.request, Call):
            return f"timed out after {job.request.timeout:g} s"
        return f"the worker was ended by {_ending(code)}"


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
