"""A text file on the machine, opened to be edited: what every editing file state begins and ends with.

Called by file.replace, append, line, blockreplace and others. Text is UTF-8; bytes that are not stay as they are.
Looks through a `Reader`; what it returns is a plan.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, FileStat, Machine, Plan, Reader
from minion.states.file.diff import HIDDEN, diff
from minion.states.file.paths import behind, checked, make_parents, missing_parents
from minion.states.file.perms import Perms, differing, put
from minion.states.file.target import keep_copy

LARGEST = 64 * 1024 * 1024
"""Bytes of a file that is edited: it is held several times over while that is done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A file, and what it holds."""

    name: str
    path: str
    """Where the symlinks of `name` end."""
    found: FileStat | None
    """None: there is none yet, and the state may make it."""
    data: bytes

    @property
    def text(self) -> str:
        """What it holds; what is no UTF-8 survives a round trip through `encoded`."""
        return self.data.decode("utf-8", "surrogateescape")


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The comments of an editing state, for each way that it can go."""

    good: str
    pending: str
    done: str


CHANGES = Words(good="No changes needed to be made", pending="Changes would be made", done="Changes were made")


def opened(machine: Reader, name: str, what: str, *, create: bool = False, binary: bool = False) -> Opened:
    """The file at `name`; with `create` one that is not there is empty. StateFailed in Salt's words.

    `binary`: whether it may hold null bytes, as text of two bytes a letter does.
    """
    clean = checked(name, what)
    path, found = behind(machine, clean)
    if found is None:
        if not create:
            raise StateFailed(f"{name}: file not found")
        return Opened(name=name, path=path, found=None, data=b"")
    if found.kind != "file":
        raise StateFailed(f"{name} is not a file but a {found.kind}: file.{what} edits files")
    if found.size > LARGEST:
        raise StateFailed(f"{name} has {found.size} bytes: file.{what} edits files of {LARGEST} bytes at most")
    data = machine.read(path)
    if not binary and b"\0" in data[:8192]:
        raise StateFailed(f"Cannot perform string replacements on a binary file: {name}")
    return Opened(name=name, path=path, found=found, data=data)


def encoded(text: str) -> bytes:
    """Text of `Opened.text` as bytes again."""
    return text.encode("utf-8", "surrogateescape")


def edited(
    file: Opened,
    new: bytes,
    words: Words,
    *,
    backup: str = "",
    show_changes: bool = True,
    makedirs: bool = False,
    perms: Perms | None = None,
    shown: str | None = None,
) -> Plan:
    """The plan that leaves `new` in the file. `backup` is the path of a copy of the old content, `shown` the diff."""
    wanted = perms or Perms()
    changes: list[Change] = []
    if new != file.data or file.found is None:
        text = (diff(file.data, new) or "New file") if shown is None else shown
        changes.append(
            Change(
                key="diff",
                reported=text if show_changes else HIDDEN,
                act=_write(file, new, backup if file.found else "", wanted, makedirs),
            )
        )
    for key, value in differing(file.found, wanted).items():
        changes.append(Change(key=key, reported=value, act=_put(file.path, key, value)))
    return Plan(changes=tuple(changes), comment=words.good, pending=words.pending, done=words.done)


def beside(file: Opened, backup: bool | str, backup_dir: str = "") -> str:
    """Where `backup` wants the copy: a suffix such as `.bak`, `minion` for the minion's own place, or nowhere."""
    if backup in ("minion", "both", True):
        return keep_copy(backup_dir, file.path) if backup_dir else ""
    if not backup or backup == "master":
        return ""
    if backup is True or "/" in backup:
        raise StateFailed(f"backup must be false, minion, or a suffix such as .bak, not {backup!r}")
    return file.path + backup


def _write(file: Opened, new: bytes, backup: str, perms: Perms, makedirs: bool) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        missing = missing_parents(machine, file.path)
        if missing and not makedirs:
            raise StateFailed(f"Parent directory {missing[-1]} is not present: set makedirs to True to have it made")
        if missing:
            make_parents(machine, file.path, perms.for_parents(None))
        if backup:
            make_parents(machine, backup, Perms(mode="0700"))
            machine.write(backup, file.data, mode=file.found.mode if file.found else None)
            _give(machine, backup, file.found)
        machine.write(file.path, new, mode=perms.mode)

    return act


def _give(machine: Machine, path: str, like: FileStat | None) -> None:
    """A copy is its original's owner's: a backup shows nothing to others, and its owner can take it back."""
    made = machine.stat(path)
    if like is not None and made is not None:
        owner, now = (like.found.st_uid, like.found.st_gid), (made.found.st_uid, made.found.st_gid)
        if now != owner:
            machine.chown(path, *owner)


def _put(path: str, key: str, value: str) -> Callable[[Machine], None]:
    return lambda machine: put(machine, path, {key: value})
