"""The queue of state runs: one run at a time, as Salt has it with `queue`, `concurrent` and `state_queue`.

Called by whatever runs states: the agent's workers, whose runs always wait for their turn, and the functions of the
module `state`, which are refused when another run goes on, unless they may wait.

    <cachedir>/run.lock     locked by the current run
    <cachedir>/turns/PID-N  one file for each current or waiting run, locked by its process

Locks end with their process, so that nothing has to be cleaned up after a crash.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from minion.machine.file_locks import take_lock

RUN_LOCK = "run.lock"
FOLDER = "turns"


class Turn(NamedTuple):
    """A current or waiting run."""

    fun: str
    pid: int
    jid: str
    since: float
    """Seconds since the epoch."""

    def said(self) -> str:
        """In Salt's words."""
        when = time.strftime("%Y, %b %d %H:%M:%S", time.localtime(self.since)) + f"{self.since % 1:.6f}"[1:]
        return f'The function "{self.fun}" is running as PID {self.pid} and was started at {when} with jid {self.jid}'


class Conflict(Exception):
    """There are other state runs, and this one may not wait."""

    def __init__(self, state_queue: list[Turn]) -> None:
        super().__init__("\n".join(turn.said() for turn in state_queue))


class StateQueue:
    """The place of one process in the queue; a run within a run has the place of the outer one."""

    def __init__(self, cachedir: Path, fun: str, jid: str = "", *, begun: bool = False) -> None:
        """`fun` and `jid`: what other processes show of this run. `begun`: it was cut off, and waits to be resumed."""
        self._cachedir = cachedir
        self._fun = fun
        self._begun = begun
        self._jid = jid or time.strftime("%Y%m%d%H%M%S") + f"{time.time() % 1:.6f}"[2:]
        self._held = False

    @contextlib.contextmanager
    def taken(self, queue: Any = True, concurrent: bool = False) -> Iterator[None]:
        """Hold the place while states run.

        `queue`: True waits for all others, a number does when fewer than so many are there (0: in any case), False
        does not: Conflict. `concurrent` runs beside the others.
        """
        if self._held or not os.access(self._cachedir, os.W_OK):
            yield
            return
        with contextlib.ExitStack() as held:
            held.callback(self._register(True if self._begun else queue, concurrent))
            if not concurrent:
                lock = take_lock(self._cachedir / RUN_LOCK, wait=True)
                assert lock is not None  # noqa: S101  (it was waited for)
                held.callback(os.close, lock)
            self._held = True
            held.callback(setattr, self, "_held", False)
            yield

    def others(self) -> list[Turn]:
        """The runs of other processes, oldest first."""
        found = {}
        for path in sorted(self._folder.glob("*-*")):
            with contextlib.suppress(OSError, ValueError, TypeError):
                if path.name.startswith(f"{os.getpid()}-"):
                    continue
                turn = _read(path)
                if turn is not None:
                    found[turn.jid] = turn  # a worker that waits for an orphaned one of the same run
        return sorted(found.values(), key=lambda turn: turn.since)

    @property
    def _folder(self) -> Path:
        return self._cachedir / FOLDER

    def _register(self, queue: Any, concurrent: bool) -> Any:
        """Write the file of this run, and return what removes it. Conflict when it may not run."""
        self._folder.mkdir(mode=0o700, exist_ok=True)
        guard = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
            others = [] if concurrent or queue is True else self.others()
            if others and (queue is False or 0 < int(queue) <= len(others)):
                raise Conflict(others)
            return self._show()
        finally:
            os.close(guard)

    def _show(self) -> Any:
        import json  # most calls run no states, and start without it

        path = self._folder / f"{os.getpid()}-{time.monotonic_ns()}"
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        fcntl.flock(fd, fcntl.LOCK_EX)
        os.write(fd, json.dumps([self._fun, os.getpid(), self._jid, time.time()]).encode())

        def end() -> None:
            path.unlink(missing_ok=True)
            os.close(fd)

        return end


def _read(path: Path) -> Turn | None:
    """The run of a file; None when its process has ended, and the file is removed."""
    import json

    fd = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        fun, pid, jid, since = json.loads(os.pread(fd, 65536, 0))
        return Turn(str(fun), int(pid), str(jid), float(since))
    else:
        path.unlink(missing_ok=True)
        return None
    finally:
        os.close(fd)
