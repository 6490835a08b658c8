"""The processes of a swarm: members are divided among them, and each tells what it has counted.

Used by `saltern swarm`. A process has the descriptors that the system gives it (`ulimit -n`); a swarm that needs more
has more processes.
"""

from __future__ import annotations

import contextlib
import os
import resource
import select
import signal
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from minion.processes import AgentPipe, Child, fork
from minion.swarm.fleet import (
    DESCRIPTORS_OF_MEMBER,
    DESCRIPTORS_OF_PROCESS,
    MOST_SOCKETS,
    SOCKETS_OF_MEMBER,
    SwarmFleet,
)
from minion.swarm.member import MemberIdentity, SwarmBehaviour
from wire.address import Address

TOLD_SECONDS = 0.5
"""How often a process tells what it has counted, where nobody says otherwise."""

STOP_SECONDS = 20.0
"""Until a process that does not end is killed."""

MOST_PROCESSES = 64


class TooManyMembers(Exception):
    """The system does not let processes have so many descriptors. The text says which limit is in the way, and what
    to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SwarmPlan:
    """What is simulated."""

    members: Sequence[MemberIdentity]
    address: Address
    behaviour: SwarmBehaviour
    pace: float
    """Members that begin to connect in a second, of all processes together."""
    processes: int
    told_seconds: float = TOLD_SECONDS
    """How often a process tells what it has counted."""


def raise_descriptors() -> int:
    """Let this process and its children have as many descriptors as they may; how many that is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = MOST_SOCKETS * DESCRIPTORS_OF_MEMBER // SOCKETS_OF_MEMBER
    if hard == resource.RLIM_INFINITY or hard >= most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return most
    with contextlib.suppress(ValueError, OSError):  # only root may
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
        return most
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard


def processes_for(members: int, descriptors: int, asked: int = 0) -> int:
    """How many processes so many members need. TooManyMembers when that does not go.

    Args:
        members: of the swarm.
        descriptors: that a process may have.
        asked: so many processes are wanted; 0: as few as will do.
    """
    each = min((descriptors - DESCRIPTORS_OF_PROCESS) // DESCRIPTORS_OF_MEMBER, MOST_SOCKETS // SOCKETS_OF_MEMBER)
    needed = -(-members // each) if each > 0 else MOST_PROCESSES + 1
    if needed > (asked or MOST_PROCESSES):
        wanted = DESCRIPTORS_OF_PROCESS + -(-members // (asked or MOST_PROCESSES)) * DESCRIPTORS_OF_MEMBER
        raise TooManyMembers(
            f"{members} members in {asked or MOST_PROCESSES} processes need {wanted} descriptors each, and a process "
            f"may have {descriptors} (RLIMIT_NOFILE, `ulimit -Hn`), of which libzmq uses sockets for "
            f"{MOST_SOCKETS // SOCKETS_OF_MEMBER} members at most: raise it (systemd: LimitNOFILE={wanted}), "
            f"ask for {needed} processes (--processes), or for fewer members"
        )
    return asked or needed


class SwarmProcesses:
    """The processes, while they run."""

    def __init__(self, plan: SwarmPlan) -> None:
        self._plan = plan
        self._children: list[Child] = []
        self._told: dict[int, Counter[str]] = {}
        self._closed: set[int] = set()
        """Process ids of those that say nothing more."""
        self._ended: set[int] = set()
        """Of those among them that were not told to end."""
        self._stopping = False

    def start(self) -> None:
        """Start all."""
        umask = os.umask(0o077)
        os.umask(umask)
        count = self._plan.processes
        for number in range(count):
            part = self._plan.members[number::count]
            self._children.append(fork(lambda pipe, part=part: _serve(pipe, part, self._plan), umask=umask))  # type: ignore[misc]

    @property
    def pids(self) -> list[int]:
        """Of the processes."""
        return [child.pid for child in self._children]

    def counts(self) -> Counter[str]:
        """What all have counted, as they told it last; `ended`: processes that have broken down.

        `most_connected` is the sum of what each process had at most, perhaps at different times.
        """
        total = Counter({"ended": len(self._ended)})
        for told in self._told.values():
            total.update(told)
        return total

    def wait(self, seconds: float) -> None:
        """Take what they tell, for so long."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            open_ones = {child.fd: child for child in self._children if child.pid not in self._closed}
            if not open_ones:
                return
            for fd in select.select(list(open_ones), [], [], left)[0]:
                self._take(open_ones[fd])

    def _take(self, child: Child) -> None:
        frames, ended = child.receive()
        for frame in frames:
            self._told[child.pid] = Counter(msgspec.msgpack.decode(frame, type=dict[str, int]))
        if ended:
            self._closed.add(child.pid)
            if not self._stopping:
                self._ended.add(child.pid)
                self._told.get(child.pid, Counter())["connected"] = 0

    def stop(self) -> None:
        """Have all say Bye, and end them; `counts` then has what they told last."""
        self._stopping = True
        running = [child for child in self._children if child.pid not in self._ended]
        for child in running:
            child.send(b"stop")
        until = time.monotonic() + STOP_SECONDS
        while any(child.pid not in self._closed for child in running) and time.monotonic() < until:
            self.wait(TOLD_SECONDS)
        for child in self._children:
            if child in running and child.pid not in self._closed:
                child.signal(signal.SIGKILL)
            child.reap()


def _serve(pipe: AgentPipe, members: Sequence[MemberIdentity], plan: SwarmPlan) -> None:
    """One process."""
    fleet = SwarmFleet(members, plan.address, plan.behaviour, pace=plan.pace / plan.processes)
    try:
        while True:
            until = time.monotonic() + plan.told_seconds
            if fleet.run(until, pipe.fd):
                break
            pipe.send(msgspec.msgpack.encode(fleet.counts()))
        pipe.send(msgspec.msgpack.encode(fleet.counts()))
    finally:
        fleet.close()
