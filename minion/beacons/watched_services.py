"""Services that the desired document keeps running, watched: whose process has ended.

Part of the process of the beacons, opted in by `drift: watch: true` of the policy. The main process of each service is
found in its control group, by its pid file or by its name, and the kernel says when it ends (pidfd_open(2)). It only
says which states were touched: the agent checks them (`minion.agent.drift_watch`), by asking the service manager.
"""

from __future__ import annotations

import contextlib
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from highstate.types import Chunk

MOST_SERVICES = 256
"""Services that are watched; the others are checked on the schedule alone."""
GATHERED = 0.1
"""Seconds after the first end, in which others may end and who restarts a service may start it."""
FIRST_LOOK, LONGEST_LOOK = 1.0, 60.0
"""Seconds between two looks for services without a process: twice as long each time."""

REAPED_WITHIN = 10.0
"""Seconds in which the parent of a process that has ended is to ask how it ended."""

_GROUPS = ("/sys/fs/cgroup/system.slice", "/sys/fs/cgroup/systemd/system.slice")
_PROC = "/proc"
_RUN = "/run"
_COMM = 15
"""Characters of a process's name that the kernel keeps."""


class ManagedService(NamedTuple):
    """A service that runs as long as the document is followed."""

    keys: tuple[str, ...]
    """Of its states."""
    sig: str = ""
    """A part of the command line of its process."""


class _Process(NamedTuple):
    """A process that is watched."""

    service: str
    pid: int
    fd: int


def managed_services(chunks: Mapping[str, Chunk]) -> dict[str, ManagedService]:
    """The services that states of a document keep running, by name."""
    found: dict[str, ManagedService] = {}
    for key, chunk in chunks.items():
        name = chunk.name if isinstance(chunk.name, str) else ""
        if (chunk.state, chunk.fun) != ("service", "running") or not name or "/" in name:
            continue
        before = found.get(name, ManagedService(()))
        found[name] = ManagedService((*before.keys, key), before.sig or str(chunk.arguments.get("sig") or ""))
    return found


class WatchedServices:
    """The processes of one document's services. Times are monotonic seconds."""

    def __init__(self) -> None:
        self.problems: tuple[str, ...] = ()
        """What is not watched, for people."""
        self._services: Mapping[str, ManagedService] = {}
        self._processes: dict[int, _Process] = {}
        """Descriptor -> process."""
        self._ended: set[str] = set()
        self._unreaped: dict[str, tuple[int, float]] = {}
        """Service -> its process, which has ended and still has its id, and until when that is looked at.

        Until then many init scripts take it for running (`kill -0`), and so would the check that comes at once.
        """
        self._running = False
        self._tell_at = self._look_at = math.inf
        self._pause = FIRST_LOOK

    def follow(self, chunks: Mapping[str, Chunk], now: float) -> None:
        """Watch what this document has; processes that are watched already go on."""
        services = managed_services(chunks)
        self.problems = ()
        if len(services) > MOST_SERVICES:
            self.problems = (
                f"drift.watch: {MOST_SERVICES} of {len(services)} services are watched, and that is the most; the "
                "others are checked on the schedule",
            )
            services = {name: services[name] for name in sorted(services)[:MOST_SERVICES]}
        self._services = services
        self._ended &= services.keys()
        self._unreaped = {name: one for name, one in self._unreaped.items() if name in services}
        for one in list(self._processes.values()):
            if one.service not in services:
                self._forget(one)
        self._look_for_processes(now, anew=True)

    def close(self) -> None:
        """Watch nothing any more."""
        for one in list(self._processes.values()):
            self._forget(one)
        self._services = {}

    def readers(self, now: float) -> Sequence[int]:
        """Descriptors to poll."""
        return tuple(self._processes)

    def due_at(self, now: float) -> float:
        """When `look` has something to do without a descriptor."""
        if self._running:
            return math.inf
        return min(self._tell_at, self._look_at, now + GATHERED if self._unreaped else math.inf)

    def look(self, now: float, ready: Sequence[int] = ()) -> frozenset[str]:
        """Take what ended; keys of the states of these services, once they are to be told.

        Args:
            now: the time.
            ready: descriptors that are readable.
        """
        for fd in ready:
            if (one := self._processes.get(fd)) is not None:
                self._forget(one)
                self._ended.add(one.service)
                self._tell_at = min(self._tell_at, now + GATHERED)
                if _stat(one.pid):
                    self._unreaped[one.service] = one.pid, now + REAPED_WITHIN
        if self._running:
            return frozenset()
        self._look_for_reaped(now)
        if now >= self._look_at:
            self._look_for_processes(now, anew=False)
        if now < self._tell_at:
            return frozenset()
        self._tell_at = math.inf
        ended, self._ended = self._ended, set()
        self._look_for_processes(now, anew=True)
        return frozenset(key for name in ended if name in self._services for key in self._services[name].keys)

    def state_run(self, *, running: bool, now: float) -> None:
        """States run, or have ended: what they restarted is watched anew, and was no doing of others."""
        before, self._running = self._running, running
        if not before or running:
            return
        self._look_for_processes(now, anew=True)
        run = {one.service for one in self._processes.values()}
        self._ended -= run
        self._unreaped = {name: one for name, one in self._unreaped.items() if name not in run}
        self._tell_at = now + GATHERED if self._ended else math.inf

    def _look_for_reaped(self, now: float) -> None:
        """Tell once more of services whose process has lost its id."""
        watched = {one.service for one in self._processes.values()}
        for name, (pid, until) in list(self._unreaped.items()):
            if name not in watched and (not _stat(pid) or _lives(pid)):  # gone, or another one has the id
                self._ended.add(name)
                self._tell_at = min(self._tell_at, now)
            elif name not in watched and now < until:
                continue
            del self._unreaped[name]

    def _look_for_processes(self, now: float, *, anew: bool) -> None:
        """Watch services that have none of their processes watched; later again for those that have none."""
        watched = {one.service for one in self._processes.values()}
        missing = {name: one for name, one in self._services.items() if name not in watched}
        for name, pid in _main_processes(missing).items():
            self._watch(name, pid)
            del missing[name]
        self._pause = FIRST_LOOK if anew else min(2 * self._pause, LONGEST_LOOK)
        self._look_at = now + self._pause if missing else math.inf

    def _watch(self, service: str, pid: int) -> None:
        try:
            fd = os.pidfd_open(pid)
        except ProcessLookupError:
            return
        except (OSError, AttributeError) as error:
            self.problems = (f"drift.watch: services cannot be watched: {error}",)
            return
        self._processes[fd] = _Process(service, pid, fd)

    def _forget(self, one: _Process) -> None:
        self._processes.pop(one.fd, None)
        os.close(one.fd)


def _main_processes(services: Mapping[str, ManagedService]) -> dict[str, int]:
    """The main process of each service that has one."""
    found: dict[str, int] = {}
    for name, service in services.items():
        pid = 0 if service.sig else _of_group(name) or _of_pid_file(name)
        if pid:
            found[name] = pid
    rest = {name: one for name, one in services.items() if name not in found}
    return found | (_by_name(rest) if rest else {})


def _of_group(name: str) -> int:
    """By the control group that systemd has made: the process whose parent is in no such group."""
    unit = name if "." in name else f"{name}.service"
    for folder in _GROUPS:
        with contextlib.suppress(OSError, ValueError):
            pids = [int(word) for word in Path(folder, unit, "cgroup.procs").read_text().split()]
            return next((pid for pid in pids if _parent(pid) not in pids and _lives(pid)), 0)
    return 0


def _of_pid_file(name: str) -> int:
    """By a file of the service, where its process is alive and has that name."""
    for path in (f"{name}.pid", f"{name}/{name}.pid", f"{name}d.pid", f"{name}/pid"):
        with contextlib.suppress(OSError, ValueError):
            pid = int(Path(_RUN, path).read_text(encoding="ascii")[:20])
            if _comm(pid) in _names(name) and _lives(pid):
                return pid
    return 0


def _by_name(services: Mapping[str, ManagedService]) -> dict[str, int]:
    """By the name or the command line of all processes of this machine: the eldest of each."""
    wanted = {one: name for name, service in services.items() if not service.sig for one in _names(name)}
    signed = {name: service.sig for name, service in services.items() if service.sig}
    found: dict[str, int] = {}
    own = _namespace(os.getpid())
    for pid in _pids():
        name = wanted.get(_comm(pid), "") or (_signed(pid, signed) if signed else "")
        if name and name not in found and _lives(pid) and _namespace(pid) == own:
            found[name] = pid
    return found


def _names(service: str) -> frozenset[str]:
    """What the process of a service may be called: `sshd` of `ssh`, `cron` of `crond`."""
    bare = service.removesuffix(".service")
    return frozenset(one[:_COMM] for one in (bare, f"{bare}d", bare.removesuffix("d")) if one)


def _signed(pid: int, signed: Mapping[str, str]) -> str:
    try:
        line = Path(_PROC, str(pid), "cmdline").read_bytes()[:4096].replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
    return next((name for name, sig in signed.items() if sig in line), "") if pid != os.getpid() else ""


def _pids() -> Iterator[int]:
    with contextlib.suppress(OSError):
        yield from sorted(int(name) for name in os.listdir(_PROC) if name.isdecimal())  # noqa: PTH208


def _comm(pid: int) -> str:
    try:
        return Path(_PROC, str(pid), "comm").read_text(errors="replace").rstrip("\n")
    except OSError:
        return ""


def _parent(pid: int) -> int:
    """Of a process that is there; 0 when it has gone."""
    try:
        return int(_stat(pid)[1])
    except (IndexError, ValueError):
        return 0


def _lives(pid: int) -> bool:
    """Whether it runs. One that has ended keeps its id, name and pid file until its parent asks how it ended."""
    return _stat(pid)[:1] not in ([], ["Z"], ["X"])


def _stat(pid: int) -> list[str]:
    """State, parent and what follows in proc(5); nothing when it has gone."""
    try:
        return Path(_PROC, str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return []


def _namespace(pid: int) -> str:
    """Of process ids, so that what runs in a container is not taken for a service of this machine."""
    try:
        return os.readlink(f"{_PROC}/{pid}/ns/pid")  # noqa: PTH115
    except OSError:
        return ""
