"""Users and groups that a run under test=True would have made by now: what getent would say of them.

Part of `minion.machine.planned`. A user whose number only `useradd` chooses gets one that no user has.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed

_NO_KEY = 2
"""Exit code of getent where there is no such entry."""

_FIRST = 2**31 - 100_000
"""The number of the first planned user or group without one of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    name: str
    number: int
    fields: tuple[str, ...]


@dataclass(slots=True)
class PlannedAccounts:
    """What is planned."""

    _passwd: dict[str, _Entry] = field(default_factory=dict)
    _group: dict[str, _Entry] = field(default_factory=dict)
    _no_user: set[str] = field(default_factory=set)
    _no_group: set[str] = field(default_factory=set)
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(_FIRST))

    def add_user(self, name: str, *, uid: int | None, group: str, home: str, shell: str) -> None:
        """A user would be made, with its primary group."""
        if group == name and name not in self._group:
            self.add_group(name, gid=uid)
        number = next(self._numbers) if uid is None else uid
        self._no_user.discard(name)
        self._passwd[name] = _Entry(name=name, number=number, fields=(str(self.gid(group)), "", home, shell))

    def add_group(self, name: str, *, gid: int | None, members: Sequence[str] = ()) -> None:
        """A group would be made."""
        number = next(self._numbers) if gid is None else gid
        self._no_group.discard(name)
        self._group[name] = _Entry(name=name, number=number, fields=(",".join(members),))

    def remove(self, state: str, name: str) -> None:
        """A user or group would be removed."""
        known, gone = (self._passwd, self._no_user) if state == "user" else (self._group, self._no_group)
        known.pop(name, None)
        gone.add(name)

    def names(self) -> Sequence[str]:
        """All users and groups."""
        return (*self._passwd, *self._group)

    def planned(self, user: str) -> str:
        """The user, if only this run would make it."""
        return f"the user {user}" if user in self._passwd else ""

    def uid(self, user: str) -> int:
        """The number of a user, planned or not; StateFailed when there is none."""
        if user in self._passwd:
            return self._passwd[user].number
        return _known_uid(user)

    def gid(self, group: str) -> int:
        """The number of a group, planned or not; StateFailed when there is none."""
        if group in self._group:
            return self._group[group].number
        return _known_gid(group)

    def answered(self, argv: Sequence[str], done: Completed) -> Completed:
        """What `getent` says, with what is planned."""
        words = [word for word in argv if word != "--"]
        databases = {"passwd": (self._passwd, self._no_user), "group": (self._group, self._no_group)}
        database, gone = databases.get(words[1] if len(words) > 1 else "", ({}, set()))
        if not database and not gone:
            return done
        lines = {line.partition(":")[0]: line for line in done.stdout.splitlines()}
        lines = {name: line for name, line in lines.items() if name not in gone}
        asked = words[2:]
        for entry in database.values():
            if not asked or entry.name in asked or str(entry.number) in asked:
                lines.setdefault(entry.name, ":".join((entry.name, "x", str(entry.number), *entry.fields)))
        found = not asked or len(lines) >= len(asked)
        text = "".join(f"{line}\n" for line in lines.values())
        return Completed(returncode=0 if found else done.returncode or _NO_KEY, stdout=text, stderr=done.stderr)


def _known_uid(user: str) -> int:
    import pwd

    if user.isdigit():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise StateFailed(f"User {user} is not available") from None


def _known_gid(group: str) -> int:
    import grp

    if group.isdigit():
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise StateFailed(f"Group {group} is not available") from None
