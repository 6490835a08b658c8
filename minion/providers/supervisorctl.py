"""Asks and tells supervisord by its program supervisorctl(1).

Called by the state and the execution module `supervisord`.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

STOPPED = frozenset({"EXITED", "FATAL", "STOPPED", "STOPPING"})
"""States of a process that does not run and is not about to. supervisord(1), "Process States"."""
FAILING = "BACKOFF"
"""Of one that ended too soon after its start, and is started again and again."""

_UNREACHED = re.compile(
    r"^(?:(?:unix|https?)://\S+ (?:no such file|refused connection)|error: .*|Error: .*)", re.MULTILINE
)
"""What supervisorctl prints, mostly on stdout, where it reaches no supervisord, or has no configuration.
What is wrong with a process begins with the name of that."""
_ROW = re.compile(r"(?P<name>\S+)\s+(?P<state>[A-Z]{4,})(?:\s+(?P<reason>.*))?")


class SupervisorPlace(NamedTuple):
    """Arguments of all functions: which supervisord, and who asks it."""

    user: str | None = None
    """Who runs supervisorctl."""
    conf_file: str | None = None
    bin_env: str | None = None
    """Path of supervisorctl, or a virtualenv that has it."""


@dataclass(frozen=True, slots=True)
class Process:
    """What supervisord says of a process."""

    state: str
    """`RUNNING`, `STOPPED`, ..."""
    reason: str
    """The rest of the line: process id and time, or what is wrong."""

    @property
    def stopped(self) -> bool:
        """Whether it does not run, and is not about to."""
        return self.state in STOPPED


@dataclass(frozen=True, slots=True)
class Supervisor:
    """One supervisord.

    Args:
        place: which.
    """

    place: SupervisorPlace

    def processes(self, machine: Reader) -> dict[str, Process]:
        """All processes by name (`group:process` where a group has several), in supervisord's order.

        Raises StateFailed when supervisorctl is not there or reaches no supervisord.
        """
        done = self.asked(machine, "status")
        found = parsed(done.stdout)
        # 3: some do not run. Without a row, what came of it says nothing of what supervisord has.
        if not found and done.returncode not in (0, 3):
            raise StateFailed(f"supervisorctl status: {done.stderr.strip() or done.stdout.strip()}")
        return found

    def asked(self, machine: Reader, *words: str) -> Completed:
        """What came of a command that only looks. Raises StateFailed as `processes` does."""
        argv = self._argv(*words)
        done = machine.query(argv if self.place.user is None else ["runuser", "-u", self.place.user, "--", *argv])
        _refuse_unreached(argv[0], done)
        return done

    def told(self, machine: Machine, *words: str) -> Completed:
        """What came of a command that changes something. Raises StateFailed as `processes` does."""
        argv = self._argv(*words)
        done = machine.run(argv, runas=self.place.user)
        _refuse_unreached(argv[0], done)
        return done

    def _argv(self, *words: str) -> list[str]:
        chosen = ["-c", self.place.conf_file] if self.place.conf_file else []
        return [_program(self.place.bin_env), *chosen, *words]


def parsed(text: str) -> dict[str, Process]:
    """The rows of `supervisorctl status`; lines of another shape are none."""
    rows = filter(None, map(_ROW.fullmatch, map(str.rstrip, text.splitlines())))
    return {row["name"]: Process(row["state"], row["reason"] or "") for row in rows}


def groups_of(processes: Mapping[str, Process]) -> frozenset[str]:
    """`name:` for each group; a process without one is a group of its own name."""
    return frozenset(f"{name.partition(':')[0]}:" for name in processes)


def error_in(said: Completed) -> str:
    """What supervisorctl complains of; empty where it does not, or only of what is so already."""
    text = said.stdout.strip() or said.stderr.strip()
    errors = [line for line in text.splitlines() if "ERROR" in line and "already started" not in line]
    if errors:
        return "\n".join(errors)
    if said.returncode in (0, 3) or "already started" in text:
        return ""
    return text or f"supervisorctl ended with {said.returncode}"


def _program(bin_env: str | None) -> str:
    if not bin_env:
        found = shutil.which("supervisorctl")
        if found is None:
            raise StateFailed("supervisorctl is not installed on this machine, or not in the PATH of the minion")
        return found
    path = Path(bin_env, "bin", "supervisorctl") if Path(bin_env).is_dir() else Path(bin_env)
    if not path.is_file():
        raise StateFailed(f"there is no supervisorctl at {path}")
    return str(path)


def _refuse_unreached(program: str, done: Completed) -> None:
    said = f"{done.stdout}\n{done.stderr}"
    if _UNREACHED.search(said) or done.returncode == 127:
        raise StateFailed(f"{program} does not reach supervisord: {said.strip()}")
