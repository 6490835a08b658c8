"""Users and groups: read through getent (so that every source of names counts), changed with Debian's shadow tools.

Called by the user and group states and execution functions. A password hash goes to `chpasswd` on its standard input,
never into a command line that every user of the machine could read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader

REDACTED = "XXX-REDACTED-XXX"
"""Stands for a password hash wherever one could be shown."""

_NAME = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9_.@-]*\$?")
_NAME_LENGTH = 32
_NOT_FOUND = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """An entry of passwd with the groups that it is in."""

    name: str
    uid: int
    gid: int
    home: str
    shell: str
    gecos: tuple[str, str, str, str, str] = ("", "", "", "", "")
    """Full name, room, work phone, home phone, other."""
    groups: tuple[str, ...] = ()
    """Names, sorted, the primary group among them."""

    def as_salt(self) -> dict[str, object]:
        """As `user.info` prints it."""
        fullname, room, work, home_phone, other = self.gecos
        return {
            "gid": self.gid,
            "groups": list(self.groups),
            "home": self.home,
            "name": self.name,
            "passwd": "x",
            "shell": self.shell,
            "uid": self.uid,
            "fullname": fullname,
            "roomnumber": room,
            "workphone": work,
            "homephone": home_phone,
            "other": other,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """An entry of the group database."""

    name: str
    gid: int
    members: tuple[str, ...] = ()

    def as_salt(self) -> dict[str, object]:
        """As `group.info` prints it."""
        return {"name": self.name, "passwd": "x", "gid": self.gid, "members": list(self.members)}


_SHADOW_DAYS = ("lstchg", "min", "max", "warn", "inact", "expire")


@dataclass(frozen=True, slots=True, kw_only=True)
class Shadow:
    """An entry of shadow."""

    password: str = field(repr=False)
    """The hash, with a `!` before it when it is locked."""
    days: Mapping[str, int]
    """By Salt's names; -1 stands for never."""


def user(machine: Reader, name: str) -> User | None:
    """The user of this name."""
    fields = _entry(machine, "passwd", name, 7)
    # getent takes digits for an id; a user who is meant by name is one who has that name.
    if fields is None or fields[0] != name:
        return None
    gid = int(fields[3])
    names = {one.name for one in groups(machine) if name in one.members or one.gid == gid}
    gecos = (*fields[4].split(",", 4), "", "", "", "", "")
    return User(
        name=name,
        uid=int(fields[2]),
        gid=gid,
        home=fields[5],
        shell=fields[6],
        gecos=(gecos[0], gecos[1], gecos[2], gecos[3], gecos[4]),
        groups=tuple(sorted(names)),
    )


def user_names(machine: Reader) -> list[str]:
    """Names of all users, sorted."""
    return sorted(line.partition(":")[0] for line in _database(machine, "passwd").splitlines() if line)


def group(machine: Reader, name: str) -> Group | None:
    """The group of this name."""
    fields = _entry(machine, "group", name, 4)
    return _group(fields) if fields and fields[0] == name else None


def group_of_gid(machine: Reader, gid: int) -> Group | None:
    """The group with this id."""
    fields = _entry(machine, "group", str(gid), 4)
    return _group(fields) if fields else None


def groups(machine: Reader) -> list[Group]:
    """All groups."""
    return parse_groups(_database(machine, "group"))


def shadow(machine: Reader, name: str) -> Shadow | None:
    """The user's shadow entry; None when it cannot be read. Its password must not be shown to anybody."""
    fields = _entry(machine, "shadow", name, 9)
    if fields is None:
        return None
    days = dict(zip(_SHADOW_DAYS, fields[2:8], strict=True))
    return Shadow(password=fields[1], days={key: int(value or -1) for key, value in days.items()})


def set_password(machine: Machine, name: str, hashed: str) -> None:
    """Put a hash into the shadow entry."""
    done = machine.run(["chpasswd", "--encrypted"], stdin=f"{name}:{hashed}\n")
    if done.returncode != 0:
        # What chpasswd says may quote its input.
        raise StateFailed(f"Failed to set the password of user {name}: {said(done).replace(hashed, REDACTED)}")


def change(machine: Machine, argv: Sequence[str], failed: str) -> None:
    """Run one of the shadow tools; StateFailed with `failed` and what the tool said."""
    done = machine.run(argv)
    if done.returncode != 0:
        raise StateFailed(f"{failed}: {said(done)}")


def check_name(kind: str, name: str) -> None:
    """StateFailed when this cannot be the name of a user or group: it goes into commands and into files with colons."""
    if not _NAME.fullmatch(name) or name.isdigit() or name in (".", "..") or len(name) > _NAME_LENGTH:
        raise StateFailed(
            f"Invalid {kind} name {name!r}: it begins with a letter, a digit, '_' or '.', holds letters, digits and "
            f"any of _ . @ -, may end in '$', is not a number and not longer than {_NAME_LENGTH}"
        )


def parse_groups(text: str) -> list[Group]:
    """The groups in the output of `getent group`."""
    rows = (line.split(":") for line in text.splitlines())
    return [_group(row) for row in rows if len(row) == 4 and row[2].isdigit()]


def said(done: Completed) -> str:
    """What a tool said, or its exit code."""
    return done.stderr.strip() or done.stdout.strip() or f"exit code {done.returncode}"


def _group(fields: Sequence[str]) -> Group:
    return Group(name=fields[0], gid=int(fields[2]), members=tuple(one for one in fields[3].split(",") if one))


def _entry(machine: Reader, database: str, key: str, width: int) -> list[str] | None:
    asked = machine.query(["getent", "--", database, key])
    if asked.returncode == _NOT_FOUND:
        return None
    if asked.returncode != 0:
        raise StateFailed(f"getent cannot look up {key} in {database}: {said(asked)}")
    fields = asked.stdout.rstrip("\n").partition("\n")[0].split(":")
    return fields if len(fields) == width else None


def _database(machine: Reader, database: str) -> str:
    asked = machine.query(["getent", database])
    if asked.returncode != 0:
        raise StateFailed(f"getent cannot list {database}: {said(asked)}")
    return asked.stdout
