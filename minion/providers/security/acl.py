"""Access control lists of files, as getfacl shows and setfacl sets them.

Called by the states and the execution module `acl`.
"""

from __future__ import annotations

import grp
import pwd
import re
from collections.abc import Sequence
from typing import NamedTuple

from minion.machine.failure import StateFailed
from minion.machine.plan import Completed, Machine, Reader
from minion.providers.commands import complaint

_KINDS = {"u": "user", "g": "group", "m": "mask", "o": "other"}
_DEFAULT = re.compile(r"(?:default|d):")
_ESCAPED = re.compile(r"\\([0-3][0-7]{2})")
_BITS = {"r": 4, "w": 2, "x": 1, "-": 0}


class AclKind(NamedTuple):
    """What an entry is about."""

    who: str
    """`user`, `group`, `mask` or `other`."""
    default: bool = False
    """Whether it is for what will be made in the folder."""

    @classmethod
    def of(cls, text: str) -> AclKind:
        """Of `user`, `g`, `default:group`, `d:u`, …; StateFailed for anything else."""
        bare = _DEFAULT.sub("", text, count=1)
        who = _KINDS.get(bare, bare)
        if who not in _KINDS.values():
            raise StateFailed("ACL Type does not exist")
        return cls(who, bare != text)

    def named(self, name: str) -> str:
        """The entry in words of setfacl, without its permissions; StateFailed for a name that cannot be one."""
        if any(sign in name for sign in ":,\n\0") or (name and self.who in ("mask", "other")):
            raise StateFailed(f"{name!r} cannot be the name of a {self.who}")
        return f"{'d:' if self.default else ''}{self.who[0]}:{name}"

    def known_name(self, name: str) -> str:
        """The name as getfacl shows it: the first of the number that it has, or stands for."""
        try:
            if self.who == "group" and name:
                return grp.getgrgid(int(name) if name.isdigit() else grp.getgrnam(name).gr_gid).gr_name
            if self.who == "user" and name:
                return pwd.getpwuid(int(name) if name.isdigit() else pwd.getpwnam(name).pw_uid).pw_name
        except KeyError:
            pass
        return name


class AclEntry(NamedTuple):
    """One line of a list."""

    kind: AclKind
    name: str
    """Empty: of the owner, the group of the file, the mask, or all others."""
    bits: int
    """Of `rwx`: 4, 2 and 1."""


class FileAcl(NamedTuple):
    """The list of one file."""

    path: str
    owner: str
    group: str
    flags: str
    """`sst` with `-` for what is not set; empty where none is."""
    entries: tuple[AclEntry, ...]

    @property
    def runs(self) -> bool:
        """Whether anybody may execute it."""
        return any(one.bits & 1 for one in self.entries if not one.kind.default)

    def find(self, kind: AclKind, name: str) -> AclEntry | None:
        """The entry; None where there is none."""
        known = kind.known_name(name)
        return next((one for one in self.entries if one.kind == kind and one.name == known), None)

    def effective(self, entry: AclEntry) -> int:
        """What the entry permits, with the mask."""
        masked = (entry.kind.who == "user" and entry.name) or entry.kind.who == "group"
        mask = self.find(AclKind("mask", entry.kind.default), "") if masked else None
        return entry.bits if mask is None else entry.bits & mask.bits


class AclPermissions(NamedTuple):
    """Permissions as they are given: `rwx`, `r-x`, `7`, `rX`."""

    bits: int
    where_it_runs: bool
    """Whether `x` is added in folders and in files that somebody may execute (`X`)."""

    @classmethod
    def of(cls, text: str) -> AclPermissions:
        """StateFailed for what are none."""
        if re.fullmatch("[0-7]", text):
            return cls(int(text), False)
        if set(text) - {*_BITS, "X"}:
            raise StateFailed(f"{text!r} are no permissions: they have the letters r, w, x, X and -, or are one digit")
        return cls(sum({_BITS[sign] for sign in text if sign != "X"}), "X" in text)

    @property
    def words(self) -> str:
        """In words of setfacl."""
        return letters(self.bits) + ("X" if self.where_it_runs else "")

    def on(self, acl: FileAcl, folder: bool) -> int:
        """The bits that they are for this file."""
        return self.bits | int(self.where_it_runs and (folder or acl.runs))


def letters(bits: int) -> str:
    """`r-x`."""
    return "".join(sign if bits & _BITS[sign] else "-" for sign in "rwx")


def acls(machine: Reader, paths: Sequence[str], *, recursive: bool = False) -> list[FileAcl]:
    """The lists of files, and of all that is below folders; StateFailed when one cannot be read.

    Symlinks that are given are followed, those below are left out.
    """
    done = machine.query(
        ["getfacl", "--absolute-names", "--no-effective", *(["-R"] if recursive else []), "--", *paths]
    )
    _need(done, "getfacl")
    return parse(done.stdout)


def parse(text: str) -> list[FileAcl]:
    """What getfacl prints."""
    found: list[FileAcl] = []
    for block in text.split("\n\n"):
        about: dict[str, str] = {}
        entries = []
        for line in block.splitlines():
            if line.startswith("# "):
                key, _, value = line[2:].partition(": ")
                about[key] = _unescaped(value)
            elif line:
                entries.append(_entry(line))
        if entries:
            path, owner, group, flags = (about.get(key, "") for key in ("file", "owner", "group", "flags"))
            found.append(FileAcl(path, owner, group, flags, tuple(entries)))
    return found


def modify(machine: Machine, entries: Sequence[str], paths: Sequence[str], *, recursive: bool = False) -> None:
    """Set entries, in words of setfacl. StateFailed with its complaint."""
    _tell(machine, ["-m", ",".join(entries)], paths, recursive)


def delete(machine: Machine, entries: Sequence[str], paths: Sequence[str], *, recursive: bool = False) -> None:
    """Take entries away."""
    _tell(machine, ["-x", ",".join(entries)], paths, recursive)


def wipe(machine: Machine, paths: Sequence[str], *, recursive: bool = False) -> None:
    """Take away all but what the mode of a file says."""
    _tell(machine, ["-b"], paths, recursive)


def _tell(machine: Machine, words: Sequence[str], paths: Sequence[str], recursive: bool) -> None:
    done = machine.run(["setfacl", *(["-R"] if recursive else []), *words, "--", *paths])
    _need(done, "setfacl")


def _need(done: Completed, program: str) -> None:
    if done.returncode == 127:
        raise StateFailed(f"There is no {program} program: install the package acl")
    if done.returncode != 0:
        raise StateFailed(complaint(done))


def _entry(line: str) -> AclEntry:
    bare = line.removeprefix("default:")
    who, name, permissions = bare.partition("\t")[0].rsplit(":", 2)
    bits = sum(_BITS.get(sign, 0) for sign in permissions)
    return AclEntry(AclKind(who, bare != line), _unescaped(name), bits)


def _unescaped(text: str) -> str:
    """getfacl writes spaces, backslashes and the like as three octal digits."""
    raw = text.encode("utf-8", "surrogateescape")
    plain = re.sub(_ESCAPED.pattern.encode(), lambda found: bytes([int(found[1], 8)]), raw)
    return plain.decode("utf-8", "surrogateescape")
