"""A process that forks workers, ends them when told to, and says how they ended.

Started by the controller's command before most of it is imported, or by `gitfs.fetching.worker_pool` when it first
needs a worker. A process with threads cannot fork safely, and one that has loaded much makes large children; this one
has one thread and little in memory, and a fork of it takes 2 ms. It talks to no remote. When the process that started
it ends, in whatever way, it kills the workers and ends too.
"""

from __future__ import annotations

import ctypes
import faulthandler
import gc
import os
import resource
import select
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import NoReturn

from gitfs.fetching.worker import serve

_FORK, _KILL = b"fork", b"kill "
_STARTED, _ENDED = b"started ", b"ended "
_PR_SET_PDEATHSIG = 1
_MESSAGE_BYTES = 64


@dataclass(frozen=True, slots=True)
class WorkerStarted:
    """The worker that was asked for longest ago runs."""

    pid: int
    """0: it could not be started."""


@dataclass(frozen=True, slots=True)
class WorkerEnded:
    """A worker has ended."""

    pid: int
    code: int
    """As subprocess has it: the exit code, or the number of a signal below zero."""


class ForkServer:
    """The fork server, as the process that started it sees it. `close` it."""

    def __init__(self) -> None:
        self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        """Readable when `receive` has something."""
        self._parent = os.getpid()
        self._pid = os.fork()
        if self._pid == 0:
            _run(theirs)
        theirs.close()

    def fork(self, worker_socket: socket.socket) -> None:
        """Start a worker that serves this socket. OSError when there is no server any more."""
        socket.send_fds(self.control, [_FORK], [worker_socket.fileno()])

    def kill(self, pid: int) -> None:
        """End a worker and the programs that it started. OSError when there is no server any more."""
        self.control.send(_KILL + str(pid).encode())

    def receive(self) -> WorkerStarted | WorkerEnded | None:
        """What the server says next, waited for; None when it has ended."""
        try:
            message = self.control.recv(_MESSAGE_BYTES)
        except OSError:
            return None
        if message.startswith(_STARTED):
            return WorkerStarted(int(message.removeprefix(_STARTED)))
        if message.startswith(_ENDED):
            pid, code = message.removeprefix(_ENDED).split()
            return WorkerEnded(int(pid), int(code))
        return None

    def close(self) -> None:
        """End it and all workers; returns when they are gone."""
        self.control.close()
        if os.getpid() == self._parent:
            with suppress(ChildProcessError):
                os.waitpid(self._pid, 0)


def _run(control: socket.socket) -> NoReturn:
    """The server's life."""
    workers: dict[int, int] = {}
    try:
        os.setsid()
        # A service manager tells every process of a service to stop. This one ends when the controller has stopped.
        _leave_the_parent(control, ignored=(signal.SIGINT, signal.SIGTERM, signal.SIGHUP))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # what is in memory are credentials
        _listen(control, workers)
    finally:
        for pid in workers.values():
            with suppress(OSError):
                os.killpg(pid, signal.SIGKILL)
        os._exit(0)


def _leave_the_parent(kept: socket.socket, ignored: tuple[signal.Signals, ...] = ()) -> None:
    """Give up what came with the fork: signal handlers, descriptors, garbage.

    Descriptors are closed behind the backs of their owners; `gc.freeze` and `os._exit` see to it that none of those
    objects is finalised here.
    """
    gc.freeze()
    faulthandler.disable()  # it would write to the number of a descriptor that is another one now
    signal.set_wakeup_fd(-1)
    for each in ignored:
        signal.signal(each, signal.SIG_IGN)
    descriptor = kept.fileno()
    os.closerange(3, descriptor)
    os.closerange(max(3, descriptor + 1), os.sysconf("SC_OPEN_MAX"))
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.dup2(null, 1)
    os.close(null)


def _listen(control: socket.socket, workers: dict[int, int]) -> None:
    """Serve until the parent is gone. `workers`: descriptor of the process -> its id."""
    ready = select.poll()
    ready.register(control, select.POLLIN)
    while True:
        for descriptor, _ in ready.poll():
            if descriptor in workers:
                ready.unregister(descriptor)
                os.close(descriptor)
                pid, status = os.waitpid(workers.pop(descriptor), 0)
                control.send(_ENDED + b"%d %d" % (pid, os.waitstatus_to_exitcode(status)))
                continue
            message, received, _, _ = socket.recv_fds(control, _MESSAGE_BYTES, 1)
            if not message:
                return
            if message == _FORK:
                pid = _fork_worker(received[0])
                control.send(_STARTED + b"%d" % pid)
                if pid:
                    workers[descriptor := os.pidfd_open(pid)] = pid
                    ready.register(descriptor, select.POLLIN)
            elif (pid := int(message.removeprefix(_KILL))) in workers.values():  # one that is not reaped yet
                os.killpg(pid, signal.SIGKILL)


def _fork_worker(descriptor: int) -> int:
    """Process id of a new worker, which is in a process group of its own: what it starts is killed with it.

    0 when the system has no process to give.
    """
    server = os.getpid()
    try:
        pid = os.fork()
    except OSError:
        os.close(descriptor)
        return 0
    if pid:
        os.setpgid(pid, pid)  # here too, as it may be killed before it has come to that itself
        os.close(descriptor)
        return pid
    try:
        os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        sock = socket.socket(fileno=descriptor)
        _leave_the_parent(sock)
        if os.getppid() == server:
            serve(sock)
        os._exit(0)
    finally:
        os._exit(1)
