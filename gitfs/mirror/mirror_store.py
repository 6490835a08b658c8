"""The files of a mirror on disk, and the lock of its writers.

    <directory>/lock          held (fcntl) by the writer; its content says that a writer is at work, or died
    <directory>/current       symlink to the repository in use; replaced atomically
    <directory>/gen-<random>  a bare repository
    <directory>/damaged       is there when a reader met an object that it could not read
    <directory>/dropped       touched when objects were dropped: what a process knows to be complete may be no more

Called by `gitfs.mirror.mirror`. Whatever a kill leaves behind is either complete or unreferenced, and the next writer
removes it. Readers need no lock: they open `current` and read objects, which never change.
"""

from __future__ import annotations

import fcntl
import os
import secrets
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import pygit2

from gitfs.mirror import gc, pack_copy
from gitfs.mirror.refdb import RefFiles
from gitfs.tree.lfs_index import drop_whole_parts
from gitfs.tree.objects import DAMAGED

LOCK_PATIENCE = 60.0
"""Seconds to wait for another process that is writing."""

MOST_PACKS = 50
"""Packs until they are made one."""
SPARE_BYTES = 64 * 1024 * 1024
"""Bytes that a mirror may hold beside twice what is needed, until what is not needed is looked for."""
MOST_LOOSE_REFS = 32
"""Files of refs until they are packed into one."""


class Busy(Exception):
    """Another process has been writing for longer than `LOCK_PATIENCE`."""


class MirrorStore:
    """The folder of one mirror."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self.current = directory / "current"
        self._lock_file = directory / "lock"
        self._damaged = directory / DAMAGED
        self._dropped = directory / "dropped"
        self._ref_files: RefFiles | None = None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """The right to write, for one thread of one process. Raises Busy."""
        with _thread_lock(str(self._directory.absolute())):
            self._directory.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                # A POSIX lock, not flock: a forked worker must not inherit it and outlive us with it.
                _wait_for_lock(descriptor)
                if os.fstat(descriptor).st_size:
                    self._remove_leftovers()
                os.pwrite(descriptor, b"w", 0)
                yield
                os.ftruncate(descriptor, 0)
            finally:
                os.close(descriptor)

    def _remove_leftovers(self) -> None:
        """Remove what a killed writer may have left: lock files, partial packs, repositories that were never used."""
        used = self.current.resolve() if self.current.is_symlink() else None
        for path in self._directory.iterdir():
            if path.name.startswith("gen-") and path.resolve() != used:
                shutil.rmtree(path, ignore_errors=True)
            elif path.name.startswith("link-") or path.name == "tidied.new":
                path.unlink(missing_ok=True)
        if used is None or not used.is_dir():
            return
        pack_copy.finish(used)
        gc.finish(used)
        drop_whole_parts(str(used))
        for path in (*used.glob("*.lock"), *(used / "refs").rglob("*.lock")):
            path.unlink(missing_ok=True)
        for path in (used / "objects").rglob("*"):
            if path.is_file() and (_is_unfinished(path) or _is_widowed(path)):
                path.unlink(missing_ok=True)

    def open(self) -> pygit2.Repository | None:
        """The repository in use; None when there is none that opens."""
        if not self.current.exists():
            return None
        try:
            repository = pygit2.Repository(str(self.current))
            repository.lookup_reference("HEAD")  # which opening does not read
            return repository
        except (pygit2.GitError, KeyError, ValueError, OSError):
            return None

    def stored_refs(self, prefix: str) -> dict[str, str]:
        """Name below `prefix` -> id, read from the files, for a repository that does not open any more."""
        found: dict[str, str] = {}
        with suppress(OSError, ValueError):
            text = (self.current / "packed-refs").read_bytes().decode(errors="surrogateescape")
            for line in text.split("\n"):
                value, _, name = line.partition(" ")
                if name.startswith(prefix) and _is_id(value):
                    found[name.removeprefix(prefix)] = value
        for name, path in self.ref_files(prefix).items():
            with suppress(OSError, ValueError):
                value = path.read_text(encoding="ascii").strip()
                if _is_id(value):
                    found[name] = value
        return found

    def refs_of(self, repository: pygit2.Repository) -> RefFiles:
        """The refs of a repository of this mirror."""
        folder = Path(repository.path)
        if self._ref_files is None or self._ref_files.folder != folder:
            self._ref_files = RefFiles(folder)
        return self._ref_files

    def pack_refs(self, repository: pygit2.Repository) -> None:
        """Pack loose refs into one file once they are many: each file is opened whenever refs are read."""
        files = self.refs_of(repository)
        files.below()
        if files.loose > MOST_LOOSE_REFS:
            repository.compress_references()

    def ref_files(self, prefix: str) -> dict[str, Path]:
        """Name below `prefix` -> file of the ref."""
        folder = self.current / prefix
        files = (Path(top, name) for top, _, names in os.walk(folder) for name in names)
        return {path.relative_to(folder).as_posix(): path for path in files if path.suffix != ".lock"}

    def create(self) -> pygit2.Repository:
        """A new empty repository, not yet in use."""
        return pygit2.init_repository(str(self._directory / f"gen-{secrets.token_hex(4)}"), bare=True)

    def use(self, repository: pygit2.Repository) -> None:
        """Make this one the repository in use; the one before is removed."""
        link = self._directory / f"link-{secrets.token_hex(4)}"
        link.symlink_to(Path(repository.path).name)
        link.replace(self.current)
        self._damaged.unlink(missing_ok=True)
        used = self.current.resolve()
        for path in self._directory.glob("gen-*"):
            if path != used and path.resolve() != used:
                shutil.rmtree(path, ignore_errors=True)

    def drop(self, repository: pygit2.Repository) -> None:
        """Remove a repository that is not used after all."""
        shutil.rmtree(repository.path, ignore_errors=True)

    def needs_gc(self) -> bool:
        """Whether there are many packs, or more bytes than twice what was needed at the last garbage collection.

        Not while the mirror may be damaged: the next fetch looks at every object first.
        """
        if self.damaged:
            return False
        sizes = _pack_sizes(self.current)
        if len(sizes) >= MOST_PACKS:
            return True
        try:
            needed = int((self._directory / "tidied").read_text(encoding="ascii"))
        except (OSError, ValueError):
            needed = 0
        return sum(sizes) > 2 * needed + SPARE_BYTES

    def record_gc(self) -> None:
        """Record that all objects of now are needed."""
        fresh = self._directory / "tidied.new"
        fresh.write_text(str(sum(_pack_sizes(self.current))), encoding="ascii")
        fresh.replace(self._directory / "tidied")

    def mark_dropped(self) -> None:
        """Tell all processes that objects of this mirror or of its submodules were dropped."""
        self._dropped.touch()

    def last_dropped(self) -> int:
        """A number that changes whenever objects are dropped; 0: never."""
        try:
            return self._dropped.stat().st_mtime_ns
        except OSError:
            return 0

    @property
    def damaged(self) -> bool:
        """Whether a reader found an object that it could not read."""
        return self._damaged.exists()

    def clear_damaged(self) -> None:
        """Clear the report of damage: every object can be read."""
        self._damaged.unlink(missing_ok=True)


def _is_id(value: str) -> bool:
    return len(value) in (40, 64) and not set(value) - set("0123456789abcdef")


def _pack_sizes(repository: Path) -> list[int]:
    sizes = []
    with suppress(FileNotFoundError), os.scandir(repository / "objects" / "pack") as entries:
        for entry in entries:
            if entry.name.endswith(".pack"):
                with suppress(FileNotFoundError):
                    sizes.append(entry.stat().st_size)
    return sizes


@cache
def _thread_lock(directory: str) -> threading.Lock:
    """One for each directory: the lock on the file tells processes apart, not the threads of one."""
    return threading.Lock()


# A child that is forked while another thread writes would wait for that thread forever.
os.register_at_fork(after_in_child=_thread_lock.cache_clear)


def _wait_for_lock(descriptor: int) -> None:
    deadline = time.monotonic() + LOCK_PATIENCE
    while True:
        try:
            fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):
            if time.monotonic() > deadline:
                raise Busy from None
            time.sleep(0.02)
        else:
            return


def _is_widowed(path: Path) -> bool:
    """Whether it is an index of a pack that is not there."""
    return path.suffix == ".idx" and not path.with_suffix(".pack").exists()


def _is_unfinished(path: Path) -> bool:
    if path.parent.name == "pack":
        return path.suffix not in (".pack", ".idx", ".rev", ".bitmap", ".midx", ".keep")
    return len(path.parent.name) == 2 and len(path.name) not in (38, 62)
