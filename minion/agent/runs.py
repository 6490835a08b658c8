"""Runs and calls on this minion: accepted, put on disk, given to workers, finished.

Part of the agent. State runs (apply, remediate, drift, preview) run one at a time in the order in which they arrived;
calls run beside them, up to a limit. What a run does is the worker's affair (`minion.worker`).

When a worker ends without a result:
- of a state run: a new worker resumes the run from its journal, until three in a row get no further; then the result is
  an error. Chunks are safe to repeat, and only a resumed run knows which watchers still have to act.
- of a call: the result is an error that says what is known. A call is never started twice, unless it came with the
  states that it runs: it is resumed as a state run is.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path

import msgspec

from minion.agent.changed_paths import changed_paths, runs_states
from minion.agent.drift_watch import WATCHED
from minion.agent.ended_run import EndedRun, ended_run
from minion.agent.workers import Worker
from minion.machine.file_locks import lock_holder
from minion.processes import Child, installs_packages, kill_tree
from minion.spool.desired_state import BY_ITSELF, DesiredState, packed_document
from minion.spool.journal import Request, RunFolder, RunFolders, error_result, own_of
from minion.spool.outbox import Outbox, is_own_remediation
from minion.spool.run_events import RunEventsOutbox
from minion.spool.schedule import UNREPORTED
from minion.worker.progress import ProgressReporter
from minion.worker.request import WAKE
from wire.errors import PatchMismatch
from wire.messages import (
    APPLIES_NOW,
    NOT_APPLIED,
    Call,
    Ending,
    Preview,
    ResyncRequired,
    Run,
    RunEventsAck,
    RunResult,
    RunStarted,
    ToController,
)

log = logging.getLogger(__name__)

PARALLEL_CALLS = 8
"""Calls that run at the same time; the others wait."""

AFTER_LIMIT = 3.0
"""Seconds that a function whose limit has passed has to end by itself: its commands are ended with it."""
STATES_AFTER_LIMIT = 15.0
"""Seconds that states have to end by themselves, beside `stop_grace`."""

STARTED_AFTER = 0.5
"""Seconds after which the controller is told that a call has begun: of one that is over by then, its result is all."""

PACKAGES_AGAIN = 1.0
"""Seconds between two looks whether a package manager has ended."""

MOST_WORKERS = 20
"""Workers that a state run gets from one agent process; the worker gives up earlier where it can."""

NEVER_CAME = "it never came to the minion, as one of the two was stopped or the connection broke: nothing was run"
"""Of a call that the controller has sent, and that is not on disk here."""

MOST_WAITING_FOR_DOCUMENT = 16
"""Runs that wait for their desired document; the oldest is dropped, and the controller sends it again."""


@dataclass(slots=True)
class RunJob:
    """A run that has a worker, or waits for one."""

    request: Request
    folder: RunFolder
    controller: str = ""
    """Which of several asked for it; empty: the minion itself, or the only one."""
    child: Child | None = None
    deadline: float = float("inf")
    told_at: float = float("inf")
    """When the controller is told that it has begun."""
    workers: int = 0
    timed_out: bool = False
    progress: ProgressReporter | None = None
    """While there is a worker, and progress is reported."""

    @property
    def is_call(self) -> bool:
        """Whether it is an execution function."""
        return isinstance(self.request, Call)

    @property
    def resumes(self) -> bool:
        """Whether it goes on from its journal when it was cut off: states do, functions do not."""
        return not isinstance(self.request, Call) or bool(self.request.digest)

    @property
    def runs_states(self) -> bool:
        """Whether states run there, also where a function of another name has them run."""
        begun = self.progress is not None and self.progress.runs_states()
        return begun or self.resumes or runs_states(self.request)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPorts:
    """What runs need of the agent."""

    send: Callable[[ToController, str], bool]
    """To a controller of several; without a name to the one that the minion follows."""
    start: Callable[[RunFolder], Worker]
    ended: Callable[[Child], None]
    answered: Callable[[Request, RunResult], None] = lambda request, result: None
    """A request ends with a result that no worker made; before the result is kept."""
    returned: Callable[[Request], None] = lambda request: None
    """A request has its result, and it is on disk."""
    finished: Callable[[RunResult], None] = lambda result: None
    """There is a result, of whatever made it."""
    reachable: Callable[[], Collection[str]] = tuple
    """Names of the controllers that can be reached, where there are several."""


class RunJobs:
    """All unfinished runs."""

    def __init__(
        self,
        cachedir: Path,
        desired_state: DesiredState,
        ports: RunPorts,
        *,
        report_progress: bool = True,
        stop_grace: float = 30.0,
        known: Collection[str] = (),
    ) -> None:
        """Take over what an earlier agent left.

        Args:
            cachedir: of the minion.
            desired_state: what it holds.
            ports: see `RunPorts`.
            report_progress: whether controllers are told how far runs are.
            stop_grace: seconds that a state may go on when its run is ended.
            known: names of the controllers where there are several.
        """
        self._report_progress = report_progress
        self._stop_grace = stop_grace
        self._folders = RunFolders(cachedir)
        self.events = RunEventsOutbox()
        self.outbox = Outbox(cachedir, self._folders, self.events, known)
        self._desired = desired_state
        self._ports = ports
        self._jobs: dict[str, RunJob] = {}
        self._waiting_for_document: dict[str, tuple[Run | Preview, str]] = {}
        self._changed: set[str] = set()
        self._ended_runs: list[EndedRun] = []
        if desired_state.applied == APPLIES_NOW:
            self._take_applied(with_controllers=bool(known))
        for folder in self._unfinished():
            request = folder.request()
            log.info("event=run_found run_id=%s", request.run_id)
            controller = folder.controller() if known else ""
            self._jobs[request.run_id] = RunJob(request, folder, controller)
            self.events.follow(request.run_id, folder.events, polled=True, controller=controller)

    def _take_applied(self, *, with_controllers: bool) -> None:
        """A worker may have ended its run after its agent was killed: the newest result says what is applied."""
        finished = [folder for folder in self._folders if folder.finished()]
        for folder in sorted(finished, key=lambda each: (each.path / "result").stat().st_mtime_ns, reverse=True):
            with contextlib.suppress(OSError, msgspec.MsgspecError):
                request, result = folder.request(), folder.result()
                if _applies(request):
                    controller = folder.controller() if with_controllers else ""
                    asker = BY_ITSELF if own_of(request) is not None else controller
                    good = result.outcome in ("ok", "changed")
                    self._desired.applies(result.digest if good else NOT_APPLIED, asker)
                    return

    def running(self) -> tuple[str, ...]:
        """Ids of the runs in progress or waiting."""
        return (*self._jobs, *self._waiting_for_document)

    def states_waiting(self) -> bool:
        """Whether a state run is in progress or waiting."""
        return any(not job.is_call for job in self._jobs.values())

    def states_running(self) -> bool:
        """Whether states run that change the machine."""
        return any(job.child is not None and runs_states(job.request) for job in self._jobs.values())

    def applied_for_others(self, controller: str) -> str:
        """See `Hello.applied`."""
        said = self._desired.applied_for_others(controller)
        jobs = [job for job in self._jobs.values() if _applies(job.request)]
        if self.outbox.tells_own() or any(own_of(job.request) or job.controller != controller for job in jobs):
            return APPLIES_NOW
        return NOT_APPLIED if said == APPLIES_NOW else said  # that run was lost

    def take_changed(self) -> tuple[str, ...]:
        """Paths that runs have changed which have ended since the last time."""
        changed, self._changed = tuple(sorted(self._changed)), set()
        return changed

    def take_ended(self) -> list[EndedRun]:
        """Runs of states that have ended since the last time."""
        ended, self._ended_runs = self._ended_runs, []
        return ended

    def applying(self) -> str:
        """Digest of the document that a controller has had run, while that run goes on or waits to; empty: none."""
        jobs = (job.request for job in self._jobs.values() if _applies(job.request))
        return next((each.digest for each in jobs if own_of(each) is None and isinstance(each, Run)), "")

    def end_applying(self, now: float) -> None:
        """End such a run, as a call whose time is over: it has not ended by itself for too long."""
        for job in self._jobs.values():
            if _applies(job.request) and own_of(job.request) is None and not job.timed_out:
                job.deadline = now

    def readers(self) -> list[int]:
        """Descriptors of the workers' sockets."""
        return [job.child.fd for job in self._jobs.values() if job.child is not None]

    def asked_by(self, controller: str) -> bool:
        """Whether something runs, or waits to run or to be told, that this controller asked for."""
        jobs = any(job.controller == controller for job in self._jobs.values())
        return jobs or bool(self._waiting_for_document) or self.outbox.waiting_for()[controller] > 0

    def controller_of(self, child: object) -> str:
        """Which of several controllers asked for what this worker runs."""
        return next((job.controller for job in self._jobs.values() if job.child is child), "")

    def accept(self, request: Request, controller: str = "") -> None:
        """Accept a run. One that is known is answered from its result, or goes on.

        Args:
            request: the run.
            controller: which of several asks; empty: the minion itself, or the only one.
        """
        run_id = request.run_id
        if run_id in self._jobs:
            job = self._jobs[run_id]
            if job.controller == controller and job.child is not None:
                self._tell_started(job)
            return
        if self.outbox.send_again(run_id, controller):
            return
        try:
            folder = self._folder_for(request, controller)
        except PatchMismatch as error:
            what = "call" if isinstance(request, Call) else "preview"
            self._fail(request, f"this {what} cannot be made: {error}", controller=controller)
            return
        except OSError as error:
            self._fail(request, f"the run cannot be put on disk: {error}", controller=controller)
            return
        if folder is None:
            self._wait_for_document(request, controller)
            return
        self._waiting_for_document.pop(run_id, None)
        self._jobs[run_id] = RunJob(_without_document(request), folder, controller)
        self.events.follow(run_id, folder.events, controller=controller)

    def check(self, run_id: str, controller: str = "") -> None:
        """Say how a run stands that the controller has no result of.

        One that is not known was lost on its way; one that waits for its document is begun no more.
        """
        if run_id in self._jobs:
            if self._jobs[run_id].child is not None:
                self._tell_started(self._jobs[run_id], controller)
        elif not self.outbox.send_again(run_id, controller):
            self._waiting_for_document.pop(run_id, None)
            log.warning("event=run_unknown run_id=%s", run_id)
            self._ports.send(
                RunResult(
                    run_id=run_id,
                    kind="call",
                    generation=0,
                    digest="",
                    outcome="error",
                    error=NEVER_CAME,
                    ending="unreachable",
                ),
                controller,
            )

    def acknowledged(self, run_id: str, controller: str) -> bool:
        """A controller has a result, or refuses it for good; True when it says of how the minion's own run ended."""
        known = self.outbox.acknowledge(run_id, controller)
        if not known or not is_own_remediation(run_id) or self.outbox.tells_own():
            return False
        self._desired.told_applied(controller)
        return True

    def refuse(self, run_id: str, error: str, controller: str = "") -> None:
        """Answer a run that is not begun here."""
        if run_id not in self._jobs and not self.outbox.send_again(run_id, controller):
            result = RunResult(
                run_id=run_id, kind="call", generation=0, digest="", outcome="error", error=error, ending="refused"
            )
            self._answer(result, self._folders.of(run_id), controller)

    def moved(self, names: Collection[str], to: str) -> bool:
        """What the controllers of these names asked for, and are to be told, is of another of their cluster now.

        They share one store, so that each knows the runs of all. False: there was nothing.
        """
        if not names:
            return False
        found = self._desired.moved(names, to)
        for job in self._jobs.values():
            if job.controller in names:
                job.controller, found = to, True
        waiting = self._waiting_for_document
        self._waiting_for_document = {
            run_id: (request, to if controller in names else controller)
            for run_id, (request, controller) in waiting.items()
        }
        self.outbox.moved(names, to)
        self.events.moved(names, to)
        return found

    def followed(self, controller: str) -> None:
        """Forget runs that wait for documents of other controllers, which ask again when they are followed."""
        waiting = self._waiting_for_document
        self._waiting_for_document = {run_id: each for run_id, each in waiting.items() if each[1] == controller}

    def document_changed(self) -> None:
        """There is another desired document: start the runs that waited for it, and fail those of an older one."""
        for request, controller in list(self._waiting_for_document.values()):
            if request.digest == self._desired.digest:
                del self._waiting_for_document[request.run_id]
                self.accept(request, controller)
            elif isinstance(request, Run) and request.generation < self._desired.generation:
                del self._waiting_for_document[request.run_id]
                why = f"its document {request.digest[:12]} was replaced by {self._desired.digest[:12]} before it came"
                self._fail(request, why, controller=controller)

    def start_waiting(self, now: float) -> None:
        """Give workers to the runs whose turn it is."""
        calls = sum(job.is_call for job in self._jobs.values() if job.child is not None)
        states_busy = any(not job.is_call for job in self._jobs.values() if job.child is not None)
        for job in list(self._jobs.values()):
            if job.child is not None:
                continue
            if job.is_call and (calls < PARALLEL_CALLS or _about_jobs(job.request)):
                calls += 1
                self._start(job, now)
            elif not job.is_call and not states_busy:
                states_busy = True
                self._start(job, now)

    def receive(self, fd: int, ask: Callable[[Child, bytes], None]) -> None:
        """A worker's socket is readable: pass its questions to `ask`, or finish its run."""
        job = next((job for job in self._jobs.values() if job.child is not None and job.child.fd == fd), None)
        if job is None or job.child is None:
            return
        frames, ended = job.child.receive()
        for frame in frames:
            if frame != WAKE:  # what wakes the agent asks nothing: it sends events at each turn of its loop
                ask(job.child, frame)
        if ended:
            self._end(job, job.child)

    def events_acknowledged(self, ack: RunEventsAck) -> None:
        """The controller has events of a run."""
        self.events.acknowledge(ack)
        over = ack.run_id.startswith(UNREPORTED) and ack.run_id not in self._jobs
        if over and not self.events.waiting(ack.run_id):
            self._forget_unreported(ack.run_id)

    def expire(self, now: float) -> None:
        """End the workers of calls whose limit has passed, and report how far runs are."""
        for job in list(self._jobs.values()):
            if now >= job.told_at:
                self._tell_started(job)
            if job.progress is not None and (message := job.progress.due_message(job.request.run_id, now)) is not None:
                self._ports.send(message, job.controller)
            if job.child is not None and now >= job.deadline:
                self._end_at_limit(job, job.child, now)

    def _end_at_limit(self, job: RunJob, child: Child, now: float) -> None:
        """Have a call end, with SIGTERM first; a package manager that it runs is waited for."""
        earlier = lock_holder(job.folder.lock)  # a worker that an earlier agent started
        working = child.pid if earlier is None else earlier  # a second worker only waits for the first one's result
        if not job.timed_out:
            job.timed_out = True
            job.deadline = now + (self._stop_grace + STATES_AFTER_LIMIT if job.runs_states else AFTER_LIMIT)
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(working, signal.SIGTERM)
        elif installs_packages(working):
            job.deadline = now + PACKAGES_AGAIN
        else:
            job.deadline = float("inf")
            for pid in {child.pid, working}:
                kill_tree(pid)

    def suspend(self) -> None:
        """The agent ends: workers stop their runs where they can be resumed. Calls end by themselves."""
        for job in self._jobs.values():
            if job.child is not None and job.resumes:
                job.child.signal(signal.SIGHUP)

    def next_deadline(self) -> float:
        """When `expire` has something to do."""
        due = (job.progress.due for job in self._jobs.values() if job.progress is not None)
        return min((*(min(job.deadline, job.told_at) for job in self._jobs.values()), *due), default=float("inf"))

    def _folder_for(self, request: Request, controller: str) -> RunFolder | None:
        """A folder with all that the run needs; None when its document is not the one in force."""
        if isinstance(request, Call):
            document = packed_document(request.document, request.digest) if request.digest else None
            return self._folders.create(_without_document(request), document, controller)
        if isinstance(request, Preview):
            return self._folders.create(request, self._desired.packed_preview(request), controller)
        if request.digest != self._desired.digest:
            return None
        return self._folders.create(request, self._desired.path, controller)

    def _wait_for_document(self, request: Request, controller: str) -> None:
        if isinstance(request, Call):
            return
        held = self._desired.digest
        log.info("event=run_waits_for_document run_id=%s digest=%s held=%s", request.run_id, request.digest, held)
        self._waiting_for_document[request.run_id] = request, controller
        if len(self._waiting_for_document) > MOST_WAITING_FOR_DOCUMENT:
            del self._waiting_for_document[next(iter(self._waiting_for_document))]
        generation = request.generation if isinstance(request, Run) else 0
        self._ports.send(ResyncRequired(generation=generation, held=held), controller)

    def _start(self, job: RunJob, now: float) -> None:
        job.workers += 1
        try:
            job.child, slot = self._ports.start(job.folder)
        except OSError as error:
            log.error("event=cannot_fork run_id=%s error=%s", job.request.run_id, error)
            return
        job.progress = ProgressReporter(slot, now) if self._report_progress else None
        if isinstance(job.request, Call) and job.request.timeout > 0:
            job.deadline = now + job.request.timeout
        if _applies(job.request):
            self._desired.applies(APPLIES_NOW, _asker(job))
        if job.workers > 1:
            return
        _log_start(job.request)
        if job.resumes:
            self._tell_started(job)
        else:
            job.told_at = now + STARTED_AFTER

    def _tell_started(self, job: RunJob, asker: str | None = None) -> None:
        """Tell the controller that asked for it, or another that asks how it stands."""
        job.told_at = float("inf")
        self._ports.send(RunStarted(run_id=job.request.run_id), job.controller if asker is None else asker)

    def _end(self, job: RunJob, child: Child) -> None:
        code = child.reap()
        self._ports.ended(child)
        job.child = job.progress = None
        job.deadline = job.told_at = float("inf")
        if not job.folder.finished() and job.resumes and not job.timed_out and job.workers < MOST_WORKERS:
            log.warning("event=worker_ended run_id=%s ended_by=%s resumed=true", job.request.run_id, _ending(code))
            return
        del self._jobs[job.request.run_id]
        if job.folder.finished():
            self._finished(job)
        else:
            ending: Ending = "timed out" if job.timed_out else ""
            self._fail(job.request, self._end_reason(job, code), ending, job.controller)
        if _about_jobs(job.request):
            self._end_waiting()

    def _end_waiting(self) -> None:
        """End jobs that had no worker yet and have a result: `saltutil.kill_job` has left it."""
        for run_id, job in list(self._jobs.items()):
            if job.child is None and job.folder.finished():
                del self._jobs[run_id]
                self._finished(job)

    def _finished(self, job: RunJob) -> None:
        try:
            result = job.folder.result()
        except (OSError, msgspec.MsgspecError) as error:
            self._fail(job.request, f"the result cannot be read: {error}", controller=job.controller)
            return
        if job.timed_out and isinstance(job.request, Call):
            result = msgspec.structs.replace(
                result, outcome="error", error=_past_limit(job.request), ending="timed out"
            )
            job.folder.finish(result)
        if _applies(job.request):
            good = result.outcome in ("ok", "changed")
            self._desired.applies(result.digest if good else NOT_APPLIED, _asker(job))
        changed_machine = runs_states(job.request)
        if changed_machine:
            self._changed.update(changed_paths(result))
        if changed_machine or isinstance(job.request, Run):
            self._ended_runs.append(ended_run(job.request, result, changed_machine=changed_machine))
        log.info("event=run_finished run_id=%s outcome=%s seconds=%.3f", result.run_id, result.outcome, result.seconds)
        self._ports.finished(result)
        self._add(result, job.folder, job.controller)
        self._ports.returned(job.request)

    def _add(self, result: RunResult, folder: RunFolder, controller: str) -> None:
        nothing_found = result.run_id.startswith(WATCHED) and result.outcome == "ok"
        if not result.run_id.startswith(UNREPORTED) and not nothing_found:
            self.outbox.add(result, controller)
            if controller and controller not in (reachable := self._ports.reachable()):
                self.outbox.drop_too_many(reachable)
        elif not self.events.waiting(result.run_id):
            self._forget_unreported(result.run_id)

    def _forget_unreported(self, run_id: str) -> None:
        """A run whose results stay on the minion is over, and the controller has its events."""
        self.events.forget(run_id)
        self._folders.of(run_id).remove()

    def _fail(self, request: Request, why: str, ending: Ending = "", controller: str = "") -> None:
        """End a request with a result that no worker made."""
        result = error_result(request, why, ending=ending)
        if own_of(request) is not None:
            self._ended_runs.append(ended_run(request, result, changed_machine=True))
        self._ports.answered(request, result)
        self._answer(result, self._folders.of(request.run_id), controller)
        self._ports.returned(request)

    def _answer(self, result: RunResult, folder: RunFolder, controller: str = "") -> None:
        """Record a result that no worker made. With a full disk it is sent without being kept."""
        log.error("event=run_failed run_id=%s error=%s", result.run_id, result.error)
        self._ports.finished(result)
        try:
            folder.path.mkdir(mode=0o700, exist_ok=True)
            folder.belongs_to(controller)
            folder.finish(result)
        except OSError as error:
            log.error("event=result_not_stored run_id=%s error=%s", result.run_id, error)
            folder.remove()
            self._ports.send(result, controller)
            return
        self._add(result, folder, controller)

    def _unfinished(self) -> list[RunFolder]:
        """Runs that an earlier agent did not finish, oldest first. Drift checks are not resumed."""
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

    def _end_reason(self, job: RunJob, code: int) -> str:
        if job.timed_out and isinstance(job.request, Call):
            return _past_limit(job.request)
        return f"the worker was ended by {_ending(code)}"


def _log_start(request: Request) -> None:
    """With the ids by which the controller's log and history name it; arguments may be secret."""
    if isinstance(request, Call):
        log.info("event=run_started run_id=%s job=%s kind=call fun=%s", request.run_id, request.job, request.fun)
    else:
        kind = request.kind if isinstance(request, Run) else "preview"
        log.info("event=run_started run_id=%s kind=%s digest=%s", request.run_id, kind, request.digest)


def _without_document(request: Request) -> Request:
    """The request without what its folder holds."""
    return msgspec.structs.replace(request, document=b"") if isinstance(request, Call) else request


def _about_jobs(request: Request) -> bool:
    """Whether it looks after other jobs (`saltutil.kill_job`): it does not wait for these to end."""
    return isinstance(request, Call) and request.fun.startswith("saltutil.")


def _applies(request: Request) -> bool:
    """Whether the document counts as applied after a good end, as the controller sees it."""
    return isinstance(request, Run) and request.kind in ("apply", "remediate") and not request.test


def _asker(job: RunJob) -> str:
    return BY_ITSELF if own_of(job.request) is not None else job.controller


def _past_limit(call: Call) -> str:
    return f"timed out after {call.timeout:g} s"


def _ending(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"signal {-code} ({signal.Signals(-code).name})"
    except ValueError:
        return f"signal {-code}"
