"""monit(1): what it tells of its services, and what it is told.

Called by the state and the execution module `monit`. Its daemon carries out what it is told a moment later; what is
pending counts as done.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

ACTIONS = ("monitor", "restart", "start", "stop", "unmonitor")
_HEAD = re.compile(r"(?P<kind>[A-Z][A-Za-z ]*) '(?P<name>.+)'")
_ROW = re.compile(r"  (?P<key>\S+(?: \S+)*) {2,}(?P<value>.*)")
_MISSING = 127


class MonitService(NamedTuple):
    """A service as monit has it."""

    kind: str
    """`Process`, `File`, `Remote Host`, …"""
    rows: dict[str, str]
    """What is told of it."""

    @property
    def monitored(self) -> bool:
        """Whether monit watches it, or is about to."""
        status, _, pending = self.rows.get("status", "").partition(" - ")
        if pending.startswith("unmonitor"):
            return False
        return status != "Not monitored" or bool(pending)


def services(machine: Reader) -> dict[str, MonitService]:
    """Name → the service. StateFailed where the daemon does not answer."""
    return read(asked(machine, "-B", "status"))


def read(text: str) -> dict[str, MonitService]:
    """Name → the service, of what `monit -B status` prints."""
    found: dict[str, MonitService] = {}
    rows: dict[str, str] = {}
    for line in text.splitlines():
        if head := _HEAD.fullmatch(line):
            rows = {}
            found[head["name"]] = MonitService(head["kind"], rows)
        elif row := _ROW.fullmatch(line):
            rows[row["key"]] = row["value"].strip()
    return found


def asked(machine: Reader, *words: str) -> str:
    """What monit tells. StateFailed where it fails."""
    return _output(machine.query(["monit", *words]), words)


def told(machine: Machine, *words: str) -> str:
    """What monit says of an order. StateFailed where it fails."""
    return _output(machine.run(["monit", *words]), words)


def named(name: str) -> str:
    """The name. StateFailed where monit would take it for an option or for all."""
    if not name or name.startswith("-"):
        raise StateFailed(f"{name!r} is no name of a service of monit")
    return name


def _output(done: Completed, words: tuple[str, ...]) -> str:
    if done.returncode == _MISSING:
        raise StateFailed("monit is not there: install it (Debian: monit)")
    if done.returncode != 0:
        raise StateFailed(f"monit {' '.join(words)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
