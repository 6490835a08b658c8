"""Disk quotas of file systems, as quotaon, repquota and setquota have them.

Called by the state and the execution module `quota`.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import complaint

_MODE = re.compile(r"(\w+) quota on (.+) \((.+)\) is (on|off)\b.*")
_SIGNS = {"user": "-u", "group": "-g"}
LIMITS = ("block-soft-limit", "block-hard-limit", "file-soft-limit", "file-hard-limit")
_COLUMNS = ("block-used", *LIMITS[:2], "block-grace", "file-used", *LIMITS[2:], "file-grace")


class QuotaMode(NamedTuple):
    """Whether a file system counts and limits, for users or for groups."""

    mount: str
    device: str
    kinds: dict[str, str]
    """`user`, `group` -> `on` or `off`."""


class QuotaReport(NamedTuple):
    """What users, or groups, have used and may use of a file system."""

    block_grace: str
    inode_grace: str
    rows: dict[str, dict[str, str]]


def sign_of(kind: str) -> str:
    """The option of a kind of quotas; StateFailed for what is none."""
    if kind not in _SIGNS:
        raise StateFailed(f"{kind} is no type of quotas: user, or group")
    return _SIGNS[kind]


def quota_mode(machine: Reader, name: str) -> QuotaMode | None:
    """The mode of a file system, by its mount point or device; None where it has no quotas."""
    done = machine.query(["quotaon", "-p", name])
    if done.returncode == 127:
        raise _absent("quotaon")
    found = [one for one in map(_MODE.fullmatch, map(str.strip, done.stdout.splitlines())) if one]
    if not found:
        return None
    return QuotaMode(found[0][2], found[0][3], {one[1]: one[4] for one in found})


def turn(machine: Machine, name: str, mode: str, kind: str | None = None) -> None:
    """Turn quotas on or off, those of one kind or all. StateFailed with what the program says."""
    _need(machine.run([f"quota{mode}", *([sign_of(kind)] if kind else []), name]), f"quota{mode}")


def report(machine: Reader, mount: str, kind: str) -> QuotaReport:
    """What is used and permitted."""
    lines = _need(machine.query(["repquota", "-vp", sign_of(kind), mount]), "repquota").stdout.splitlines()
    graces, rows, listing = ("", ""), dict[str, dict[str, str]](), False
    for line in lines:
        if found := re.match(r"Block grace time: (.*); Inode grace time: (.*)", line):
            graces = (found[1].strip(), found[2].strip())
        elif line.startswith("---"):
            listing = True
        elif listing and len(words := line.split()) > len(_COLUMNS):
            rows.setdefault(words[0], dict(zip(_COLUMNS, words[2:], strict=False)))
    return QuotaReport(*graces, rows)


def limit(machine: Machine, mount: str, kind: str, whom: str, limits: dict[str, str]) -> dict[str, str]:
    """Set limits of a user or a group; those that are not given stay. What they are then."""
    if whom.startswith("-"):
        raise StateFailed(f"{whom!r} cannot be the name of a {kind}")
    has = report(machine, mount, kind).rows.get(whom, {})
    wanted = {name: limits.get(name, has.get(name, "0")) for name in LIMITS}
    _need(machine.run(["setquota", sign_of(kind), whom, *wanted.values(), mount]), "setquota")
    return {**has, **wanted}


def stats(machine: Reader) -> dict[str, str]:
    """What the kernel counts of quotas."""
    lines = _need(machine.query(["quotastats"]), "quotastats").stdout.splitlines()
    return {key: value.strip() for key, mark, value in (line.partition(": ") for line in lines) if mark}


def _need(done: Completed, program: str) -> Completed:
    if done.returncode == 127:
        raise _absent(program)
    if done.returncode != 0:
        raise StateFailed(complaint(done))
    return done


def _absent(program: str) -> StateFailed:
    return StateFailed(f"There is no {program} program: install the package quota")
