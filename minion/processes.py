"""The agent's children: forked, in a process group of their own, with one socket between them and the agent.

The agent forks with `fork`, reads frames with `Child.receive` and learns of the end by the socket's end.
The child speaks through `AgentPipe`. What a child does is not known here.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

log = logging.getLogger(__name__)

PACKAGE_MANAGERS = frozenset(
    {
        "Zypp-main",
        "apk",
        "apt",
        "apt-get",
        "apt-key",
        "aptitude",
        "dnf",
        "dnf5",
        "dpkg",
        "dpkg-deb",
        "dpkg-divert",
        "dpkg-preconfigure",
        "dpkg-reconfigure",
        "microdnf",
        "packagekitd",
        "pacman",
        "pkg",
        "rpm",
        "rpmdb",
        "unattended-upgrade",
        "yum",
        "zypper",
    }
)
"""Programs that are not ended in the middle of their work: a package that is half installed has to be repaired by hand.

Their descendants, which are the scripts of packages, are not ended either.
"""

_SHOWN_NAME = 15
"""Bytes of a process's name that the kernel keeps."""

WRITE_TIMEOUT = 5.0
"""Seconds that the agent waits for a child to take an answer; a child that asked reads at once."""

_LARGEST_FRAME = 256 * 1024 * 1024


class AgentGone(BaseException):
    """The agent has ended. Not an Exception: no state may take it for its own failure; the run is resumed later."""


class AgentPipe:
    """The child's end. Blocking: a worker has one question at a time."""

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._sending = threading.Lock()

    @property
    def fd(self) -> int:
        """To poll; readable when the agent has sent something, or has ended."""
        return self._sock.fileno()

    def send(self, frame: bytes) -> None:
        """Hand a frame to the agent. AgentGone when there is none."""
        try:
            with self._sending:
                self._sock.sendall(len(frame).to_bytes(4, "big") + frame)
        except OSError as error:
            raise AgentGone from error

    def receive(self) -> bytes:
        """The next frame of the agent. AgentGone when there is none."""
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = self._sock.recv(min(size - len(data), 1 << 20))
            except OSError as error:
                raise AgentGone from error
            if not part:
                raise AgentGone
            data += part
        return bytes(data)


class Child:
    """The agent's end."""

    def __init__(self, pid: int, sock: socket.socket) -> None:
        self.pid = pid
        self._sock = sock
        self._buffer = bytearray()
        self._sock.setblocking(False)

    @property
    def fd(self) -> int:
        """To poll; readable when there are frames or the child has ended."""
        return self._sock.fileno()

    def receive(self) -> tuple[list[bytes], bool]:
        """Whole frames that have come, and whether the child has closed its end."""
        ended = False
        try:
            while part := self._sock.recv(1 << 18):
                self._buffer += part
            ended = True
        except BlockingIOError:
            pass
        except OSError:
            ended = True
        return self._frames(), ended

    def send(self, frame: bytes) -> bool:
        """Give the child a frame; False when it does not take it."""
        self._sock.settimeout(WRITE_TIMEOUT)
        try:
            self._sock.sendall(len(frame).to_bytes(4, "big") + frame)
        except OSError:
            return False
        finally:
            self._sock.setblocking(False)
        return True

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to the child alone."""
        _signal(self.pid, number)

    def kill(self) -> None:
        """End the child and the commands that it runs."""
        kill_tree(self.pid)

    def reap(self) -> int:
        """Exit code as Python writes it: minus the signal's number when a signal ended it."""
        self._sock.close()
        _, status = os.waitpid(self.pid, 0)
        return os.waitstatus_to_exitcode(status)

    def _frames(self) -> list[bytes]:
        frames: list[bytes] = []
        while len(self._buffer) >= 4:
            size = int.from_bytes(self._buffer[:4], "big")
            if size > _LARGEST_FRAME:
                self.kill()
                return frames
            if len(self._buffer) < 4 + size:
                return frames
            frames.append(bytes(self._buffer[4 : 4 + size]))
            del self._buffer[: 4 + size]
        return frames


def fork(work: Callable[[AgentPipe], None], *, umask: int) -> Child:
    """Start a child that does `work` and ends. `umask`: what commands that it runs shall inherit."""
    ours, theirs = socket.socketpair()
    pid = os.fork()
    if pid:
        theirs.close()
        return Child(pid, ours)
    code = 70  # EX_SOFTWARE
    try:
        _leave_the_agent(theirs, umask)
        work(AgentPipe(theirs))
        code = 0
    except AgentGone:
        code = 75  # EX_TEMPFAIL: taken up again by the next agent
    except BaseException:
        log.exception("event=worker_failed")
    finally:
        os._exit(code)


def _leave_the_agent(sock: socket.socket, umask: int) -> None:
    """Give up everything that came with the fork: signals, locks, and the sockets of zmq, whose threads are not here.

    Descriptors are closed behind the backs of their owners; `gc.freeze` and `os._exit` see to it that none of those
    objects is finalised in the child.
    """
    gc.freeze()
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGCHLD):
        signal.signal(number, signal.SIG_DFL)
    os.setpgid(0, 0)
    os.umask(umask)
    keep = {0, 1, 2, sock.fileno()}
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208  (numbers, not paths)
        if int(name) not in keep:
            with contextlib.suppress(OSError):  # the descriptor of this very listing
                os.close(int(name))
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.close(null)


@contextlib.contextmanager
def named(name: str) -> Iterator[None]:
    """Have `ps` and `top` show this name of the process meanwhile, of 15 characters at most, where Linux runs."""
    own = Path("/proc/self/comm")
    before = ""
    with contextlib.suppress(OSError):
        before = own.read_text().rstrip("\n")
        own.write_text(name)
    yield
    with contextlib.suppress(OSError):
        own.write_text(before)


def kill_tree(pid: int) -> None:
    """End a worker and its descendants. Commands have sessions of their own, so no group holds them all.

    A daemon that a command has left behind belongs to init by then, and lives.
    """
    if pid <= 1 or not _signal(pid, signal.SIGSTOP):  # stopped, it starts nothing more
        return
    for descendant in descendants(pid):
        _signal(descendant, signal.SIGKILL)
    _signal(pid, signal.SIGKILL)


def end_descendants(number: signal.Signals) -> None:
    """Send a signal to the commands that this process runs, and to theirs.

    Package managers, what they run and what waits for them are left alone: they end by themselves.
    """
    own, table = os.getpid(), _process_table()
    spared = _package_work(own, table)
    for descendant in _below(own, table):
        if descendant not in spared:
            _signal(descendant, number)


def installs_packages(pid: int) -> bool:
    """Whether a package manager works among the descendants of a process."""
    return bool(_package_work(pid, _process_table()))


def _signal(pid: int, number: signal.Signals) -> bool:
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def descendants(pid: int) -> list[int]:
    """Ids of the processes that a process has started, and theirs."""
    return _below(pid, _process_table())


def _process_table() -> dict[int, tuple[int, str]]:
    """Process id -> (its parent, its name as the kernel has it)."""
    found: dict[int, tuple[int, str]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # pid (name, which may hold anything) state parent ...
            head, _, tail = path.read_bytes().rpartition(b")")
            name = head.partition(b"(")[2].decode("utf-8", "replace")
            found[int(path.parent.name)] = int(tail.split()[1]), name
    return found


def _below(pid: int, table: Mapping[int, tuple[int, str]]) -> list[int]:
    children: dict[int, list[int]] = {}
    for one, (parent, _) in table.items():
        children.setdefault(parent, []).append(one)
    found = list(children.get(pid, ()))
    for one in found:
        found += children.get(one, ())
    return found


def _package_work(pid: int, table: Mapping[int, tuple[int, str]]) -> set[int]:
    """Descendants of a process that are package managers, that these run, or that wait for these."""
    names = {name[:_SHOWN_NAME] for name in PACKAGE_MANAGERS}
    found: set[int] = set()
    for one in _below(pid, table):
        if table[one][1] in names:
            found.update((one, *_below(one, table)))
            while (one := table[one][0]) != pid:
                found.add(one)
    return found
