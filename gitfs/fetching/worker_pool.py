"""Workers for jobs that may hang: some kept warm, each killed at its job's deadline, none that others wait for.

Called by `gitfs.fetching.fetcher`. A job that has run for longer than `PROMPT_SECONDS` does not count any more when it
is asked whether one more may begin, so that remotes that hang delay none that answers; only `MOST_WORKERS` bound their
number, and when that is reached, the one goes that has done nothing for longest. Jobs that are likely to hang wait
behind the others and take half of the room at most. Knows nothing of what jobs are about.

One thread (`transfers`) hears all workers and keeps the time. It never waits for one of them.
"""

from __future__ import annotations

import bisect
import selectors
import signal
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from gitfs.fetching.fork_server import ForkServer, WorkerEnded, WorkerStarted
from gitfs.fetching.frames import FrameBuffer, FrameKind, PeerGone, send_frame
from options.limits import CountRefusal, uncounted

PROMPT_SECONDS = 0.25
"""How long a job counts as one that others wait for."""
MOST_PROMPT = 16
"""Jobs of that kind at a time; half of them when they are doubtful."""
MOST_WORKERS = 64
"""Jobs at a time, those that hang included."""
HANGING_SECONDS = 5.0
"""After so long, a job whose worker has not used the processor since may be ended for another one."""
DEADLINE = 3600.0
"""Seconds until a worker is killed, whatever it does, where its job does not say."""
LOOK_SECONDS = 1.0
"""Between two looks at workers that are busy."""
EXIT_SECONDS = 1.0
"""How long a worker that has closed its socket may take to end."""
_LONGEST_LIMIT = 64
"""Bytes of the name of a limit."""
MOST_IDLE = 2
"""Workers that are kept for the next job."""
IDLE_SECONDS = 1.0
"""How long they are kept. Each takes some 8 MiB, and the fork of another a few milliseconds."""

Answer = Callable[[bytes], bytes]


class WorkerLost(Exception):
    """A job that has no result."""


class WorkerKilled(WorkerLost):
    """Its worker was killed from here."""


class DeadlinePassed(WorkerKilled):
    """It has taken longer than it may."""

    def __init__(self, seconds: float) -> None:
        super().__init__(seconds)
        self.seconds = seconds
        """That it may take."""


class MadeRoom(WorkerKilled):
    """`MOST_WORKERS` were busy, and it was the one that had hung for longest."""


class PoolClosed(WorkerKilled):
    """Nobody wants its result any more."""


class WorkerNotStarted(WorkerLost):
    """The system gave no process."""


class WorkerDied(WorkerLost):
    """Its worker ended by itself, or was killed from outside."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code
        """As subprocess has it."""


@dataclass(eq=False, slots=True, kw_only=True)
class _Job:
    body: bytes
    home: str
    answer: Answer
    doubtful: bool
    apart: bool
    seconds: float
    """Until its worker is killed."""
    result: Future[bytes] = field(default_factory=Future)
    started: float = 0.0
    """By `time.monotonic`."""


@dataclass(eq=False, slots=True)
class _Worker:
    sock: socket.socket
    frames: FrameBuffer
    homes: set[str] = field(default_factory=set)
    """What it has worked at, and still has in memory."""
    is_apart: bool = False
    """It is for jobs that no other kind of job waits for."""
    pid: int = 0
    """0 until the fork server has said it."""
    job: _Job | None = None
    idle_since: float = 0.0
    """By `time.monotonic`, when it has no job."""
    processor_time: int | None = None
    """Ticks that it had used after `HANGING_SECONDS` of its job."""
    is_leaving: bool = False
    """It was told to end, or has ended."""
    gone: float | None = None
    """When its socket was closed."""
    killed: WorkerKilled | None = None
    """Why, when it was killed from here."""


class WorkerPool:
    """Runs jobs in workers. `close` it.

    Args:
        fork_server: of this process, when it has started one already; the pool closes it.
        on_refusal: see `options.limits.CountRefusal`; called in the pool's thread.
    """

    def __init__(self, fork_server: ForkServer | None = None, on_refusal: CountRefusal = uncounted) -> None:
        self._on_refusal = on_refusal
        self._fork_server = fork_server
        self._lock = threading.Lock()
        self._workers: set[_Worker] = set()
        self._unnamed: deque[_Worker] = deque()
        """Workers whose process id is not known yet."""
        self._waiting: list[_Job] = []
        """In their order, but doubtful ones behind the others."""
        self._outcomes: list[tuple[_Job, bytes | WorkerLost]] = []
        """What is to be reported once the lock is free."""
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._thread: threading.Thread | None = None
        self._closed = False

    def submit(
        self,
        body: bytes,
        home: str,
        answer: Answer,
        *,
        doubtful: bool = False,
        apart: bool = False,
        seconds: float | None = None,
    ) -> Future[bytes]:
        """Run a job; its result, or WorkerLost.

        Args:
            body: what the worker is sent.
            home: jobs of one home go to one worker where that is possible, as it remembers what it did.
            answer: called in a thread of its own, with what the worker asks for.
            doubtful: it is likely to hang.
            apart: no worker is taken for it that knows the home from another kind of job.
            seconds: until its worker is killed; None: `DEADLINE`.
        """
        limit = DEADLINE if seconds is None else seconds
        job = _Job(body=body, home=home, answer=answer, doubtful=doubtful, apart=apart, seconds=limit)
        with self._lock:
            if self._closed:
                self._outcomes.append((job, PoolClosed()))
            else:
                bisect.insort(self._waiting, job, key=lambda each: each.doubtful)
                self._start_waiting()
        self._notify()
        self._report()
        return job.result

    def close(self) -> None:
        """Kill all workers; jobs end as PoolClosed."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._notify()
        if self._thread is not None:
            self._thread.join()
        if self._fork_server is not None:
            self._fork_server.close()
        for worker in self._workers:
            worker.sock.close()
        for each in (self._wake, self._woken, self._selector):
            each.close()
        unfinished = [*self._waiting, *(job for _, job in self._busy())]
        self._outcomes += [(job, PoolClosed()) for job in unfinished]
        self._report()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the workers that run."""
        with self._lock:
            return tuple(worker.pid for worker in self._workers if worker.pid)

    def _notify(self) -> None:
        """Have the thread look at what has changed."""
        with suppress(OSError):  # full: it is about to look; closed: there is no thread any more
            self._wake.send(b"x", socket.MSG_DONTWAIT)

    def _report(self) -> None:
        """Give jobs their outcomes. Without the lock, as callbacks may submit another job."""
        with self._lock:
            outcomes, self._outcomes = self._outcomes, []
        for job, outcome in outcomes:
            if isinstance(outcome, WorkerLost):
                job.result.set_exception(outcome)
            else:
                job.result.set_result(outcome)

    # What follows is done with the lock.

    def _start_waiting(self) -> None:
        """Begin as many of the waiting jobs as may run now."""
        now = time.monotonic()
        while self._waiting and self._has_room(now, self._waiting[0]):
            job = self._waiting.pop(0)
            try:
                worker = self._idle_worker(job) or self._new_worker(is_apart=job.apart)
            except OSError as error:
                self._outcomes.append((job, WorkerNotStarted(str(error))))
                continue
            worker.job, worker.processor_time, job.started = job, None, now
            worker.homes.add(job.home)
            with suppress(PeerGone):  # the thread sees that it has ended
                send_frame(worker.sock, FrameKind.JOB, job.body)

    def _has_room(self, now: float, job: _Job) -> bool:
        started = [each.started for _, each in self._busy()]
        most = MOST_PROMPT // 2 if job.doubtful else MOST_PROMPT
        return len(started) < MOST_WORKERS and sum(now - each < PROMPT_SECONDS for each in started) < most

    def _busy(self) -> list[tuple[_Worker, _Job]]:
        return [(worker, worker.job) for worker in self._workers if worker.job is not None]

    def _idle_worker(self, job: _Job) -> _Worker | None:
        """A worker for a job of its kind: one that knows the home, else the one that knows least."""
        idle = [worker for worker in self._idle() if worker.is_apart == job.apart]
        return min(idle, key=lambda worker: (job.home not in worker.homes, len(worker.homes)), default=None)

    def _idle(self) -> list[_Worker]:
        return [worker for worker in self._workers if worker.job is None and not worker.is_leaving]

    def _new_worker(self, *, is_apart: bool) -> _Worker:
        """A worker that is being started; it finds its job in its socket. OSError when there is none to be had."""
        if self._fork_server is None:
            self._fork_server = ForkServer()
        if self._thread is None:
            self._selector.register(self._woken, selectors.EVENT_READ)
            self._thread = threading.Thread(target=self._run, name="transfers", daemon=True)
            self._thread.start()
        if self._fork_server.control not in self._selector.get_map():
            self._selector.register(self._fork_server.control, selectors.EVENT_READ)
        ours, theirs = socket.socketpair()
        with theirs:
            self._fork_server.fork(theirs)
        worker = _Worker(ours, FrameBuffer(ours), is_apart=is_apart)
        self._workers.add(worker)
        self._unnamed.append(worker)
        self._selector.register(ours, selectors.EVENT_READ, worker)
        return worker

    # What follows is done by the thread alone.

    def _run(self) -> None:
        while True:
            ready = self._selector.select(self._seconds_to_wait())
            with self._lock:
                if self._closed:
                    return
                for key, _ in ready:
                    if key.data is not None:
                        if key.data in self._workers:  # not removed by what the fork server said in this round
                            self._hear_worker(key.data)
                    elif key.fileobj is self._woken:
                        self._woken.recv(4096)
                    else:
                        self._hear_fork_server()
                self._kill_late()
                self._start_waiting()
                self._kill_idle()
            self._report()

    def _seconds_to_wait(self) -> float | None:
        """Until somebody has to be looked at who says nothing; None: not before somebody says something."""
        now = time.monotonic()
        with self._lock:
            deadlines = [job.started + delay for _, job in self._busy() for delay in (job.seconds, HANGING_SECONDS)]
            deadlines += [worker.idle_since + IDLE_SECONDS for worker in self._idle()]
            deadlines += [worker.gone + EXIT_SECONDS for worker in self._workers if worker.gone is not None]
            # A deadline that passes between the last look and this one is made up for soon.
            longest = PROMPT_SECONDS if self._waiting else LOOK_SECONDS
        return min([longest, *(deadline - now for deadline in deadlines if deadline > now)]) if deadlines else None

    def _hear_worker(self, worker: _Worker) -> None:
        """Take what a worker sends."""
        try:
            frames = worker.frames.receive()
        except PeerGone:
            # It ends, and the fork server tells how; a kill now would take the place of the signal that it got.
            self._selector.unregister(worker.sock)
            worker.is_leaving, worker.gone = True, time.monotonic()
            return
        for kind, body in frames:
            if worker.job is None:
                self._kill(worker)  # it says something that nobody has asked for
            elif kind is FrameKind.RESULT:
                self._outcomes.append((worker.job, body))
                worker.job, worker.idle_since = None, time.monotonic()
            elif kind is FrameKind.QUESTION:
                work = (worker.sock, worker.job.answer, body)
                threading.Thread(target=_answer, args=work, name="transfer-answer", daemon=True).start()
            elif kind is FrameKind.REFUSAL:
                self._on_refusal(body[:_LONGEST_LIMIT].decode(errors="replace"))

    def _hear_fork_server(self) -> None:
        match self._fork_server and self._fork_server.receive():
            case WorkerStarted(pid):
                worker = self._unnamed.popleft()
                worker.pid = pid
                if not pid:
                    self._remove(worker, WorkerNotStarted("the system gave no process"))
                elif worker.is_leaving:
                    self._kill(worker)
            case WorkerEnded(pid, code):
                worker = next(each for each in self._workers if each.pid == pid)
                if worker.sock in self._selector.get_map():
                    self._hear_worker(worker)  # a result may have come with its end
                self._remove(worker, worker.killed or WorkerDied(code))
            case None:
                self._forget_fork_server()

    def _forget_fork_server(self) -> None:
        """It has ended, and all workers are killed with it. The next job starts another."""
        if self._fork_server is not None:
            self._selector.unregister(self._fork_server.control)
            self._fork_server.close()
        self._fork_server = None
        self._unnamed.clear()
        for worker in list(self._workers):
            self._remove(worker, worker.killed or WorkerDied(-signal.SIGKILL))

    def _remove(self, worker: _Worker, why: WorkerLost) -> None:
        """Forget a worker that has ended."""
        if worker.job is not None:
            self._outcomes.append((worker.job, why))
        if worker.sock in self._selector.get_map():
            self._selector.unregister(worker.sock)
        worker.sock.close()
        self._workers.discard(worker)

    def _kill(self, worker: _Worker, why: WorkerKilled | None = None) -> None:
        worker.is_leaving, worker.killed = True, worker.killed or why
        if self._fork_server is not None and worker.pid:
            with suppress(OSError):
                self._fork_server.kill(worker.pid)

    def _kill_idle(self) -> None:
        """Kill those that are too many, and those that have had nothing to do for a while."""
        now = time.monotonic()
        for number, worker in enumerate(sorted(self._idle(), key=lambda each: each.is_apart)):
            if number >= MOST_IDLE or now - worker.idle_since >= IDLE_SECONDS:
                self._kill(worker)

    def _kill_late(self) -> None:
        """Kill who has passed the deadline, and one that hangs when there is no room for more."""
        now = time.monotonic()
        busy = self._busy()
        for worker, job in busy:
            if now - job.started >= job.seconds:
                self._kill(worker, DeadlinePassed(job.seconds))
            elif now - job.started >= HANGING_SECONDS and worker.processor_time is None:
                worker.processor_time = _processor_time(worker.pid)
        for worker in self._workers:
            if worker.gone is not None and now - worker.gone >= EXIT_SECONDS:
                self._kill(worker)
        hanging = [(worker, job) for worker, job in busy if worker.processor_time is not None]
        is_full = len(busy) >= MOST_WORKERS and not any(worker.is_leaving for worker, _ in busy)
        if self._waiting and hanging and is_full:
            laziest, _ = min(hanging, key=lambda each: (_used_since(each[0]), each[1].started))
            self._kill(laziest, MadeRoom())


def _used_since(worker: _Worker) -> int:
    """Ticks of the processor since the worker was found to take long."""
    return _processor_time(worker.pid) - (worker.processor_time or 0)


def _processor_time(pid: int) -> int:
    """Ticks that a process has used (proc_pid_stat(5)); 0 for none."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def _answer(sock: socket.socket, answer: Answer, question: bytes) -> None:
    with suppress(PeerGone):
        send_frame(sock, FrameKind.ANSWER, answer(question))
