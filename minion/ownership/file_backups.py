"""Copies of files before states overwrite or delete them, within bounds: what `saltern restore` brings back.

They are in the folder and under the names of Salt's `backup: minion`, so that `file.list_backups` finds both; an index
beside it says of those that were made here which run and state they were made for. Bounds hold for these alone: a copy
that a state asked for stays.
"""

from __future__ import annotations

import contextlib
import fcntl
import logging
import os
import posixpath
import stat
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from highstate.types import Chunk
from minion.config.groups import FileBackupOptions
from minion.machine.durable_files import write_durably
from minion.machine.plan import Machine
from minion.states.file.target import keep_copy

log = logging.getLogger(__name__)

MOST_AT_ONCE = 1000
"""Files of a folder that is deleted."""
_INDEX = "file_backup.index"
_NEVER = ("/proc/", "/sys/", "/dev/")
_ASKED = ("minion", "both", True)
"""Values of a state's own `backup` by which it keeps a copy itself."""


class FileCopy(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A copy that was kept."""

    path: str
    """Of the file."""
    place: str
    """Of the copy."""
    size: int = 0
    mode: str = ""
    """Of the file, which the copy has not: it is for nobody else."""
    uid: int = 0
    gid: int = 0
    at: float = 0.0
    run: str = ""
    state: str = ""


class FileBackups:
    """The copies of a minion."""

    def __init__(
        self,
        folder: str,
        options: FileBackupOptions,
        run: str = "",
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Nothing is looked at before the first copy.

        Args:
            folder: of the copies; empty: none are kept.
            options: how many, how large and how old.
            run: for which run.
            clock: seconds since the epoch.
        """
        self._folder = folder
        self._options = options
        self._run = run
        self._clock = clock
        self._total: int | None = None
        """Bytes of all copies; None: they were not counted yet."""

    def keep(self, path: str, state: str, *, replaced: bool = False) -> str:
        """Copy what is at a path, where that is a file, a symlink or a folder of them. Never raises.

        Args:
            path: absolute.
            state: for people: who is about to overwrite it.
            replaced: whether another file is about to take the place of a file there, and `part` is called then.

        Returns:
            A copy that is the file itself until `part` is called with it; else nothing.
        """
        path = posixpath.normpath(path)
        cache = posixpath.dirname(self._folder)
        if not self._folder or not self._options.copies or f"{path}/".startswith((*_NEVER, f"{cache}/")):
            return ""
        shared = ""
        try:
            for number, (file, found) in enumerate(_files(path)):
                if number >= MOST_AT_ONCE:
                    log.warning("event=file_backup_incomplete path=%s most=%d", path, MOST_AT_ONCE)
                    break
                shared = self._copy(file, found, state, replaced=replaced and file == path)
        except OSError as error:
            log.warning("event=file_backup_failed path=%s error=%s", path, error)
        return shared

    def part(self, place: str) -> None:
        """Have a copy that `keep` returned be a file of its own, whether its file was replaced or not. Never raises."""
        try:
            if os.lstat(place).st_nlink == 1:
                os.chmod(place, 0o600)  # noqa: PTH101
                os.utime(place)
                return
            fresh = f"{place}.new"
            _copy_file(place, fresh)
            os.replace(fresh, place)  # noqa: PTH105
        except FileNotFoundError:
            return  # over the bounds already
        except OSError as error:
            log.warning("event=file_backup_not_apart place=%s error=%s", place, error)

    def _copy(self, path: str, found: os.stat_result, state: str, *, replaced: bool) -> str:
        most = int(self._options.megabytes * 1024 * 1024)
        if found.st_size > most // 4:
            log.warning("event=file_backup_too_large path=%s bytes=%d", path, found.st_size)
            return ""
        place = keep_copy(self._folder, path)
        _make_private(posixpath.dirname(place))
        shared = False
        if stat.S_ISLNK(found.st_mode):
            os.symlink(os.readlink(path), place)  # noqa: PTH115, PTH211
        elif replaced and _is_ours_alone(found) and _linked(path, place):
            shared = True
        else:
            _copy_file(path, place)
        self._note(
            FileCopy(
                path=path,
                place=place,
                size=found.st_size,
                mode=f"{stat.S_IMODE(found.st_mode):04o}",
                uid=found.st_uid,
                gid=found.st_gid,
                at=self._clock(),
                run=self._run,
                state=state,
            )
        )
        self._total = None if self._total is None else self._total + found.st_size
        if self._total is None or self._total > most:
            self.trim()
        return place if shared else ""

    def _note(self, copy: FileCopy) -> None:
        index = self._index
        with _locked(index):
            fd = os.open(index, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            try:
                os.write(fd, msgspec.json.encode(copy) + b"\n")
            finally:
                os.close(fd)

    @property
    def _index(self) -> str:
        return f"{posixpath.dirname(self._folder)}/{_INDEX}"

    def copies(self) -> list[FileCopy]:
        """Those that were kept here, the oldest first."""
        found: list[FileCopy] = []
        with contextlib.suppress(OSError):
            for line in Path(self._index).read_bytes().splitlines():
                with contextlib.suppress(msgspec.MsgspecError):
                    found.append(msgspec.json.decode(line, type=FileCopy))
        return found

    def trim(self) -> None:
        """Remove what is over the bounds, the oldest first. Raises OSError."""
        with _locked(self._index):
            kept, gone = _within(self.copies(), self._options, self._clock())
            for each in gone:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(each.place)  # noqa: PTH108
                self._remove_empty(posixpath.dirname(each.place))
            self._total = sum(each.size for each in kept)
            if gone:
                write_durably(Path(self._index), b"".join(msgspec.json.encode(each) + b"\n" for each in kept))

    def _remove_empty(self, folder: str) -> None:
        while folder.startswith(f"{self._folder}/"):
            try:
                os.rmdir(folder)  # noqa: PTH106
            except OSError:
                return
            folder = posixpath.dirname(folder)

    def machine_for(self, machine: Machine, chunk: Chunk) -> Any:
        """The machine given for a state, with a copy kept of each file that it overwrites or deletes."""
        return _KeepingMachine(machine, self, f"{chunk.id} ({chunk.state}.{chunk.fun})", chunk)


def _within(copies: list[FileCopy], options: FileBackupOptions, now: float) -> tuple[list[FileCopy], list[FileCopy]]:
    """The copies to keep, the oldest first, and those over the bounds. Pure."""
    kept: list[FileCopy] = []
    gone: list[FileCopy] = []
    number: dict[str, int] = {}
    total = 0
    for each in reversed(copies):
        number[each.path] = number.get(each.path, 0) + 1
        over = number[each.path] > options.copies or total + each.size > options.megabytes * 1024 * 1024
        if over or each.at < now - options.days * 86400:
            gone.append(each)
        else:
            total += each.size
            kept.append(each)
    return kept[::-1], gone


class _KeepingMachine:
    """The machine given; before each write a copy is kept of what was there."""

    def __init__(self, machine: Machine, backups: FileBackups, state: str, chunk: Chunk) -> None:
        self._machine = machine
        self._backups = backups
        self._state = state
        self._asked = chunk.arguments.get("backup") in _ASKED

    def __getattr__(self, name: str) -> Any:
        return getattr(self._machine, name)

    def _keep(self, path: str) -> None:
        if not self._asked:
            self._backups.keep(path, self._state)

    @contextlib.contextmanager
    def _replaced(self, path: str) -> Iterator[None]:
        """Another file takes the place of the one at a path meanwhile, or does not."""
        shared = "" if self._asked else self._backups.keep(path, self._state, replaced=True)
        try:
            yield
        finally:
            if shared:
                self._backups.part(shared)

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """As `Machine.write`."""
        with self._replaced(path):
            self._machine.write(path, data, mode=mode)

    def copy(self, source: str, path: str, *, mode: str | None = None) -> None:
        """As `Machine.copy`."""
        with self._replaced(path):
            self._machine.copy(source, path, mode=mode)

    def symlink(self, target: str, path: str) -> None:
        """As `Machine.symlink`."""
        self._keep(path)
        self._machine.symlink(target, path)

    def link(self, target: str, path: str) -> None:
        """As `Machine.link`."""
        self._keep(path)
        self._machine.link(target, path)

    def remove(self, path: str) -> None:
        """As `Machine.remove`."""
        self._keep(path)
        self._machine.remove(path)

    def rename(self, source: str, path: str) -> None:
        """As `Machine.rename`."""
        self._keep(path)
        self._machine.rename(source, path)


def _files(path: str) -> Iterator[tuple[str, os.stat_result]]:
    """A file or symlink, or those in a folder; nothing else is copied."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    if stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode):
        yield path, found
    elif stat.S_ISDIR(found.st_mode):
        for folder, folders, names in os.walk(path):
            links = [name for name in folders if posixpath.islink(posixpath.join(folder, name))]
            for name in sorted([*names, *links]):
                one = posixpath.join(folder, name)
                if stat.S_ISREG((found := os.lstat(one)).st_mode) or stat.S_ISLNK(found.st_mode):
                    yield one, found


def _is_ours_alone(found: os.stat_result) -> bool:
    """Whether a file has one name, and nobody but this user may write to it: what is a copy does not change later."""
    return found.st_nlink == 1 and found.st_uid == os.geteuid() and not found.st_mode & 0o6022


def _linked(path: str, place: str) -> bool:
    """Give a file a second name, if it can have one: that keeps what a rename replaces, without another file."""
    try:
        os.link(path, place, follow_symlinks=False)
    except OSError:
        return False  # on another file system, or one that has no links
    return True


def _make_private(folder: str) -> None:
    """A folder and those above it, for nobody else."""
    if not posixpath.isdir(folder):
        _make_private(posixpath.dirname(folder))
        with contextlib.suppress(FileExistsError):
            os.mkdir(folder, 0o700)  # noqa: PTH102


def _copy_file(path: str, place: str) -> None:
    """A copy that shows nothing to others."""
    source = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        copy = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            while piece := memoryview(os.read(source, 1 << 20)):
                while piece:
                    piece = piece[os.write(copy, piece) :]
        finally:
            os.close(copy)
    finally:
        os.close(source)


@contextlib.contextmanager
def _locked(index: str) -> Iterator[None]:
    """Hold the index: a run and a call may keep copies at once."""
    fd = os.open(f"{index}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
