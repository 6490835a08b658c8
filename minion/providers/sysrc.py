"""Variables of FreeBSD's rc.conf, as sysrc(8) tells and sets them. Called by the state and the module `sysrc`."""

from __future__ import annotations

import re
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader, Value

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MISSING = 127
Variables = dict[str, dict[str, str]]
"""File → variable → value."""


class RcFiles(NamedTuple):
    """Which files are meant: those of the machine or of a jail, or one alone."""

    file: str | None = None
    jail: str | None = None

    def words(self) -> list[str]:
        """Of the command."""
        return [
            "sysrc", "-v", *(["-f", self.file] if self.file else []), *(["-j", self.jail] if self.jail else []),
        ]  # fmt: skip


def value_of(value: Value) -> str:
    """As the file has it: YAML reads YES and NO as booleans."""
    return "YES" if value is True else "NO" if value is False else str(value)


def checked(name: str) -> str:
    """The name of a variable."""
    if not _NAME.fullmatch(name):
        raise StateFailed(f"{name!r} is no name of a variable")
    return name


def variables(machine: Reader, files: RcFiles, name: str | None = None, *, defaults: bool = False) -> Variables | None:
    """One variable or all; None where there is no such one."""
    asked = checked(name) if name else "-A" if defaults else "-a"
    done = machine.query([*files.words(), asked])
    if "unknown variable" in done.stdout + done.stderr:
        return None
    found: Variables = {}
    for line in _said(done).splitlines():
        path, _, rest = line.partition(": ")
        variable, _, value = rest.partition(":")
        found.setdefault(path, {})[variable] = value.removeprefix(" ")
    return found


def assign(machine: Machine, files: RcFiles, name: str, value: str) -> None:
    """Set a variable."""
    _said(machine.run([*files.words(), f"{checked(name)}={value}"]))


def remove(machine: Machine, files: RcFiles, name: str) -> None:
    """Remove a variable."""
    _said(machine.run([*files.words(), "-x", checked(name)]))


def _said(done: Completed) -> str:
    if done.returncode == _MISSING:
        raise StateFailed("there is no sysrc: it is FreeBSD's")
    if done.returncode != 0:
        raise StateFailed(f"sysrc failed: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout
