"""The servers that a machine takes its time from, in the file of the program that keeps it.

Called by the state and the execution module `ntp`, which Salt has for Windows alone: chrony, ntpd and ntpsec, and
systemd-timesyncd are known. Servers are lines of the file; all its other lines stay.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.service.detection import is_offline, service_manager

_SERVER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._:-]*")


class TimeProgram(NamedTuple):
    """A program that keeps the time."""

    path: str
    services: tuple[str, ...]
    """Its names as a service."""
    of_systemd: bool = False
    """Whether the servers stand in one line, `NTP=`."""


_PROGRAMS = (
    TimeProgram("/etc/chrony/chrony.conf", ("chrony", "chronyd")),
    TimeProgram("/etc/chrony.conf", ("chronyd", "chrony")),
    TimeProgram("/etc/ntpsec/ntp.conf", ("ntpsec", "ntp")),
    TimeProgram("/etc/ntp.conf", ("ntp", "ntpd")),
    TimeProgram("/etc/systemd/timesyncd.conf", ("systemd-timesyncd",), of_systemd=True),
)


def time_program(machine: Reader) -> TimeProgram:
    """The one of this machine; StateFailed where there is none that is known."""
    found = next((one for one in _PROGRAMS if machine.stat(one.path) is not None), None)
    if found is None:
        raise StateFailed("there is none of chrony, ntpd and systemd-timesyncd: install one of them")
    return found


def servers(machine: Reader, program: TimeProgram) -> list[str]:
    """The servers that are named, by `server`, `pool` or `peer`."""
    text = machine.read(program.path).decode()
    if program.of_systemd:
        found = re.findall(r"^NTP=(.*)$", text, re.MULTILINE)
        return found[-1].split() if found else []
    return re.findall(r"^[ \t]*(?:server|pool|peer)[ \t]+(\S+)", text, re.MULTILINE)


def with_servers(machine: Reader, program: TimeProgram, wanted: Collection[str]) -> str:
    """The text of the file with these servers; lines of servers that stay are left as they are."""
    for name in wanted:
        if not _SERVER.fullmatch(name):
            raise StateFailed(f"{name!r} is no name of a server")
    lines = machine.read(program.path).decode().splitlines()
    if program.of_systemd:
        return _of_systemd(lines, sorted(wanted))
    kept, there = [], set()
    for line in lines:
        found = re.match(r"[ \t]*(?:server|pool|peer)[ \t]+(\S+)", line)
        if found and found[1] not in wanted:
            continue
        there |= {found[1]} if found else set()
        kept.append(line)
    added = [f"server {name} iburst" for name in sorted(set(wanted) - there)]
    return "".join(f"{line}\n" for line in (*kept, *added))


def _of_systemd(lines: list[str], wanted: list[str]) -> str:
    kept = [line for line in lines if not line.startswith("NTP=")]
    if "[Time]" not in kept:
        kept.append("[Time]")
    place = kept.index("[Time]") + 1
    return "".join(f"{line}\n" for line in (*kept[:place], f"NTP={' '.join(wanted)}", *kept[place:]))


def write(machine: Machine, program: TimeProgram, text: str) -> None:
    """Write the file, and start the program again where it runs."""
    machine.write(program.path, text.encode())
    if is_offline(machine):
        return
    manager = service_manager(machine)
    running = (name for name in program.services if (one := manager.service(machine, name)) is not None and one.running)
    name = next(running, None)
    if name is not None and (done := manager.control(machine, name, "restart")).returncode != 0:
        raise StateFailed(f"{name} cannot be restarted: {done.stderr.strip() or done.returncode}")
