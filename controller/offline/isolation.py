"""Work on somebody's tree in a process of its own, so that what never ends, crashes or eats memory costs one answer.

Called by `batch` and by the commands `compile` and `lint`. The process is a fork: it starts in milliseconds and keeps
what it has learnt from one piece of work to the next. It must not be used where threads run.
"""

from __future__ import annotations

import multiprocessing
import os
import resource
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

Work = Callable[[bytes], bytes]


class Lost(Exception):
    """No answer: the text says whether it took too long or ended the process."""


class Isolated:
    """Does work elsewhere. `start` makes the function that works, in the process itself.

    Args:
        start: called once in each new process.
        timeout: seconds that one piece of work may take.
        memory: bytes of address space that the process may use; 0: no bound.
    """

    def __init__(self, start: Callable[[], Work], *, timeout: float, memory: int = 0) -> None:
        self._start = start
        self._timeout = timeout
        self._memory = memory
        self._process: BaseProcess | None = None
        self._connection: Connection[bytes, bytes] | None = None

    def ask(self, payload: bytes) -> bytes:
        """The answer to one piece of work; Lost when there is none, after which a new process is used."""
        connection = self._running()
        try:
            connection.send_bytes(payload)
            if not connection.poll(self._timeout):
                self.close()
                raise Lost(f"it took more than {self._timeout:g} s")
            return connection.recv_bytes()
        except (EOFError, OSError):
            code = self._ended()
            raise Lost(f"it ended the process that worked on it ({_ending(code)})") from None

    def close(self) -> None:
        """End the process."""
        if self._connection is not None:
            self._connection.close()
        if self._process is not None:
            self._process.kill()
            self._process.join()
            self._process.close()
        self._connection = self._process = None

    def __enter__(self) -> Isolated:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _running(self) -> Connection[bytes, bytes]:
        if self._connection is None:
            forking = multiprocessing.get_context("fork")
            ours, theirs = forking.Pipe()
            self._process = forking.Process(target=_serve, args=(ours, theirs, self._start, self._memory), daemon=True)
            self._process.start()
            theirs.close()
            self._connection = ours
        return self._connection

    def _ended(self) -> int | None:
        code = None
        if self._process is not None:
            self._process.join(1.0)  # the pipe closes a moment before the process is gone
            code = self._process.exitcode
        self.close()
        return code


def _serve(
    parents: Connection[bytes, bytes], ours: Connection[bytes, bytes], start: Callable[[], Work], memory: int
) -> None:
    """The process: answers until the other end is closed."""
    parents.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to our parent, which ends us
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if memory:
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 2)  # an interpreter that dies says so there; the parent tells it in its own words
    work = start()
    while True:
        try:
            payload = ours.recv_bytes()
        except EOFError:
            return
        ours.send_bytes(work(payload))


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return "out of memory, or a fault of the interpreter" if code is None else f"exit code {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
