"""A file as it is wanted, and the changes that make it so.

Called by file.managed, recurse and serialize. What plans looks through a `Reader`; the acts are closures that get a
`Machine`. A content that is too large to be held is named by the file that has it, and copied piece by piece.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable
from functools import lru_cache

from highstate.records import dataclass
from minion.machine.failure import ContentUnknown, StateFailed
from minion.machine.plan import Change, FileStat, Machine, Reader
from minion.states.file.attributes import attributes, set_attributes
from minion.states.file.diff import HIDDEN, LARGEST, IgnoredDifferences, diff, too_large, unified
from minion.states.file.paths import make_parents, missing_parents
from minion.states.file.perms import Perms, differing, put, shown_of_new
from minion.states.file.sources import LocalFile

_AS_THEY_ARE = Perms()
_ALL = frozenset({"user", "group", "mode"})


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandCheck:
    """A command that is given a file with the new content, and says by its exit code whether it is good."""

    command: str
    folder: str
    """Where that file is made; empty: /tmp."""
    suffix: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedFile:
    """A file as it is to be."""

    path: str
    data: bytes | LocalFile | None
    """None: whatever it holds (an empty file when there is none)."""
    perms: Perms
    makedirs: bool = False
    dir_mode: str | None = None
    show_changes: bool = True
    new_file_diff: bool = False
    """Whether a new file's content is shown as a diff."""
    backup: str = ""
    """Where the replaced content is kept; empty: nowhere."""
    copied: bool = False
    """Whether the content is that of a source: Salt then shows the mode of a new file, asked for or not."""
    attrs: str | None = None
    """The attributes that it is to have, in chattr's letters; None: as they are."""
    check: CommandCheck | None = None
    """What has to find the new content good before it takes its place."""


def check_of(command: str, folder: str, suffix: str) -> CommandCheck | None:
    """A state's `check_cmd`, `tmp_dir` and `tmp_ext`."""
    return CommandCheck(command=command, folder=folder, suffix=suffix) if command else None


def file_changes(machine: Reader, wanted: WantedFile, found: FileStat | None) -> tuple[Change, ...]:
    """What it takes to make a file (or the symlink that `found` is) as it is wanted."""
    content = _content_change(machine, wanted, found)
    if content is None and found is not None and wanted.perms == _AS_THEY_ARE and wanted.attrs is None:
        return ()
    fresh = found is None or (found.kind == "symlink" and content is not None)
    changes = [] if content is None else [content]
    shown = shown_of_new(wanted.perms, machine.stat(posixpath.dirname(wanted.path))) if found is None else _ALL
    for key, value in differing(None if fresh else found, wanted.perms).items():
        old = None if found is None else getattr(found, key)
        act = _put(wanted.path, {key: value})
        changes.append(Change(key=key if key in shown else "", old=old, new=value, reported=value, act=act))
    if found is None and wanted.copied and wanted.perms.mode is None:
        changes.append(Change(key="mode", new="0644", reported="0644", act=_nothing))
    if wanted.attrs is not None:
        changes += _attribute_change(machine, wanted, None if fresh else found)
    return tuple(changes)


def _content_change(machine: Reader, wanted: WantedFile, found: FileStat | None) -> Change | None:
    data = wanted.data
    if found is None:
        if data is None:
            return Change(key="new", reported=f"file {wanted.path} created", act=_write(wanted, b""))
        shown = "New file"
        if wanted.new_file_diff and isinstance(data, bytes):
            shown = unified(b"", data) if wanted.show_changes else HIDDEN
        return Change(key="diff", reported=shown, act=_write(wanted, data))
    if data is None:
        return None
    if found.kind == "symlink":
        return Change(key="diff", reported="Replace symbolic link with regular file", act=_write(wanted, data))
    try:
        difference = _difference(machine, wanted.path, found.size, data)
    except ContentUnknown as unknown:
        return Change(key="diff", reported=str(unknown), act=_write(wanted, data, replaces=True))
    if difference is None:
        return None
    shown = difference if wanted.show_changes else HIDDEN
    return Change(key="diff", reported=shown, act=_write(wanted, data, replaces=True))


def _difference(machine: Reader, path: str, size: int, data: bytes | LocalFile) -> str | None:
    """How the file's content of `size` bytes differs from `data`; None when it does not."""
    new = data.size if isinstance(data, LocalFile) else len(data)
    if isinstance(data, LocalFile) or size > 2 * LARGEST + new:
        same = isinstance(data, LocalFile) and size == new and machine.same(path, data.path)
        return None if same else too_large(size, new)
    old = machine.read(path)
    return None if old == data else diff(old, data)


def covers(machine: Reader, ignored: IgnoredDifferences, wanted: WantedFile, found: FileStat | None) -> bool:
    """Whether the content of a file that is there changes in nothing but what is ignored."""
    data = wanted.data
    if not ignored.any() or found is None or (data is not None and found.kind != "file"):
        return False
    if data is None:
        return True
    try:
        if isinstance(data, LocalFile) or found.size > 2 * LARGEST + len(data):
            return _difference(machine, wanted.path, found.size, data) is None
        return ignored.cover(machine.read(wanted.path), data)
    except ContentUnknown:
        return False


def _attribute_change(machine: Reader, wanted: WantedFile, found: FileStat | None) -> list[Change]:
    have = attributes(machine, wanted.path) if found is not None else ""
    asked = wanted.attrs or ""
    if set(have) - {"e"} == set(asked) - {"e"}:
        return []
    return [Change(key="attrs", old=have, new=asked, act=lambda machine: set_attributes(machine, wanted.path, asked))]


def _write(wanted: WantedFile, data: bytes | LocalFile, *, replaces: bool = False) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        if wanted.check is not None:
            approve(machine, wanted.check, data)
        if missing_parents(machine, wanted.path):
            if not wanted.makedirs:
                raise StateFailed("Parent directory not present")
            make_parents(machine, wanted.path, wanted.perms.for_parents(wanted.dir_mode))
        if replaces and wanted.backup:
            copy = keep_copy(wanted.backup, wanted.path)
            make_parents(machine, copy, Perms(mode="0700"))
            machine.copy(wanted.path, copy, mode="0600")
        if replaces and wanted.attrs is not None:
            set_attributes(machine, wanted.path, "")  # one that is immutable cannot be replaced
        _put_in_place(machine, wanted.path, data, wanted.perms.mode)

    return act


def _put_in_place(machine: Machine, path: str, data: bytes | LocalFile, mode: str | None) -> None:
    if isinstance(data, LocalFile):
        machine.copy(data.path, path, mode=mode)
    else:
        machine.write(path, data, mode=mode)


def keep_copy(backup_dir: str, path: str) -> str:
    """Where a copy of what is at `path` is kept: under a name with the time, as Salt's file_backup does."""
    now = time.time_ns()
    second, year = _shown_second(now // 1_000_000_000)
    return f"{backup_dir}{path}_{second}_{now // 1000 % 1_000_000:06}_{year}"


@lru_cache(1)
def _shown_second(now: int) -> tuple[str, str]:
    """A second of the epoch as names of copies have it, and its year: a run replaces many files in one."""
    local = time.localtime(now)
    return time.strftime("%a_%b_%d_%H:%M:%S", local), time.strftime("%Y", local)


def approve(machine: Machine, check: CommandCheck, data: bytes | LocalFile) -> None:
    """Have a new content looked at before it takes its place; StateFailed with what the command says."""
    import secrets
    import shlex

    place = f"{check.folder or '/tmp'}/.saltern-{secrets.token_hex(8)}{check.suffix}"  # noqa: S108  (a name of our own)
    _put_in_place(machine, place, data, "0600")
    try:
        done = machine.run(f"{check.command.rstrip()} {shlex.quote(place)}")
    finally:
        machine.remove(place)
    if done.returncode != 0:
        said = "\n".join(text.strip() for text in (done.stdout, done.stderr) if text.strip())
        raise StateFailed(f"check_cmd execution failed\n{said}".rstrip())


def _put(path: str, changes: dict[str, str]) -> Callable[[Machine], None]:
    return lambda machine: put(machine, path, changes)


def _nothing(machine: Machine) -> None:
    """Comes with the file."""
