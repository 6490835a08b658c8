"""The machine itself, as states see it: `Reader` and `Machine` of `minion.machine.plan` on the real system.

Made by the worker and by `saltern call`. Files are replaced by rename, with what was written on disk before it, so
that a crash leaves the old file or the new one. It decides nothing about what is wanted.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, Unpack

from minion.machine.dirfd import held, replacing
from minion.machine.failure import StateFailed
from minion.machine.plan import Accumulator, Completed, FetchOptions, FileStat, Value

_PIECE = 1 << 20
"""Bytes of a large file that are held at once."""

_NOTHING = bytes(_PIECE)


class FileSources(Protocol):
    """Where `salt://` files come from. For templates that import others it must be a whole `highstate.types.Files`."""

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content; FileNotFoundError when there is none."""

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits; None when there is none."""

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths at or below a folder, sorted."""

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks at or below a folder."""


@dataclass(kw_only=True)
class LocalMachine:
    """`Machine` on the system that this process runs on."""

    sources_port: FileSources
    minion_id: str = ""
    grains: Mapping[str, Value] = field(default_factory=dict)
    pillar: Mapping[str, Value] = field(default_factory=dict)
    opts: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    """Execution functions that templates may call."""
    accumulated: dict[str, dict[str, Accumulator]] = field(default_factory=dict)
    """What file.accumulated has gathered in this run."""
    cachedir: str = ""
    """Where what comes from the web is kept; empty: nowhere."""

    # --- look -------------------------------------------------------------------------------------------------------

    def stat(self, path: str) -> FileStat | None:
        """Lstat; None when there is nothing."""
        try:
            found = os.lstat(path)
        except (FileNotFoundError, NotADirectoryError):
            return None
        return FileStat(found, os.readlink(path) if stat.S_ISLNK(found.st_mode) else "")  # noqa: PTH115

    def read(self, path: str) -> bytes:
        """Content of a file on the machine."""
        # A pipe that somebody laid there must not make the run wait for a writer.
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                if stat.S_ISDIR(found.st_mode):
                    raise IsADirectoryError(21, "Is a directory", path)
                raise StateFailed(f"{path} is neither a file nor a symlink to one: it is not read")
            return _all_of(descriptor, found.st_size)
        finally:
            os.close(descriptor)

    def same(self, path: str, other: str) -> bool:
        """Whether two files hold the same, compared piece by piece."""
        with open(path, "rb") as one, open(other, "rb") as two:  # noqa: PTH123
            while piece := one.read(_PIECE):
                if piece != two.read(_PIECE):
                    return False
            return not two.read(1)

    def listdir(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted."""
        return sorted(os.listdir(path))  # noqa: PTH208

    def query(
        self, argv: Sequence[str], *, env: Mapping[str, str] | None = None, stdin: str | None = None
    ) -> Completed:
        """Run a command that only reads."""
        return self.run(list(argv), env=env, stdin=stdin)

    def source(self, path: str, saltenv: str = "base") -> bytes:
        """Content of `salt://path`."""
        return self.sources_port.read(path, saltenv)

    def source_mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of `salt://path`."""
        return self.sources_port.mode(path, saltenv)

    def sources(self, prefix: str, saltenv: str = "base") -> Sequence[str]:
        """Paths of `salt://prefix/...`, sorted."""
        return self.sources_port.list(prefix, saltenv)

    def source_links(self, prefix: str, saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks of `salt://prefix/...`."""
        return self.sources_port.links(prefix, saltenv)

    def render(self, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """`salt://path` rendered with Jinja; StateFailed with line and caret when it cannot be."""
        from minion.machine.templates import render

        return render(self, path, saltenv, context)

    def render_text(self, text: str, engine: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """A text rendered; StateFailed when it cannot be."""
        from minion.machine.templates import render_text

        return render_text(self, text, engine, saltenv, context)

    def look_elsewhere(self, server: str) -> None:
        """Whoever configures this machine names its servers."""

    def fetch(self, url: str, **options: Unpack[FetchOptions]) -> bytes | None:
        """What a URL gives; what it gave before, when that fits or the server has nothing else."""
        from pathlib import Path

        from minion.machine.fetch import fetch
        from minion.machine.fetch_cache import WebCache

        cache = WebCache(Path(self.cachedir, "web")) if self.cachedir else None
        return fetch(url, cache, **options)

    # --- write ------------------------------------------------------------------------------------------------------

    def begin_elsewhere(self) -> None:
        """Acts are performed."""

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """Replace a file's content atomically, keeping owner and mode unless `mode` is given (new files: 0644)."""
        self._replace(path, mode, lambda file: _write_all(file, data))

    def copy(self, source: str, path: str, *, mode: str | None = None) -> None:
        """Replace a file's content by that of another, piece by piece."""
        with open(source, "rb") as origin:  # noqa: PTH123
            self._replace(path, mode, lambda file: _copy_all(origin.fileno(), file))

    def _replace(self, path: str, mode: str | None, fill: Callable[[int], None]) -> None:
        # O_EXCL makes a file of our own or fails: a symlink that somebody laid there is never written through.
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with _named(path), held(path) as (folder, name), replacing(folder, name) as temporary:
            descriptor = os.open(temporary, flags, 0o600, dir_fd=folder)
            try:
                fill(descriptor)
                _set_owner_and_mode(descriptor, folder, name, mode, path)
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        """Make a directory; with `parents`, those above it too, with the same mode. One that is there stays.

        Without a mode, it has its group and the setgid bit of the directory that it is made in, as mkdir(2) gives them.
        """
        if parents and not os.path.isdir(os.path.dirname(path)):  # noqa: PTH112, PTH120
            self.mkdir(os.path.dirname(path), parents=True, mode=mode)  # noqa: PTH120
        with _named(path), held(path) as (folder, name):
            try:
                os.mkdir(name, 0o700 if mode else 0o755, dir_fd=folder)
            except FileExistsError:
                if not os.path.isdir(path):  # noqa: PTH112
                    raise
                return
            inherited = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode & stat.S_ISGID
        self.chmod(path, mode or f"{0o755 | inherited:04o}")

    def chmod(self, path: str, mode: str) -> None:
        """Set the mode of a file or directory; a symlink is never followed to something else's mode."""
        with _named(path), held(path) as (folder, name):
            descriptor = os.open(name or ".", os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            try:
                if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                    raise StateFailed(f"{path} has become a symlink: its mode is not changed")
                os.chmod(f"/proc/self/fd/{descriptor}", int(mode, 8))  # noqa: PTH101
            finally:
                os.close(descriptor)

    def chown(self, path: str, user: str | int | None, group: str | int | None) -> None:
        """Set owner and group of the path itself, never of what a symlink points to; None leaves it."""
        uid, gid = _uid(user), _gid(group)
        with _named(path), held(path) as (folder, name):
            found = os.stat(name or ".", dir_fd=folder, follow_symlinks=False)
            try:
                os.chown(name or ".", uid, gid, dir_fd=folder, follow_symlinks=False)
            except PermissionError:
                wanted = ":".join("" if one is None else str(one) for one in (user, group))
                raise StateFailed(f"Failed to change the owner of {path} to {wanted}: the system refuses it") from None
        if found.st_mode & 0o6000 and not stat.S_ISLNK(found.st_mode):  # the kernel clears setuid and setgid
            self.chmod(path, f"{stat.S_IMODE(found.st_mode):04o}")

    def symlink(self, target: str, path: str) -> None:
        """Make `path` a symlink to `target`, replacing a symlink that is there."""
        if os.path.lexists(path) and not os.path.islink(path):  # noqa: PTH114
            raise StateFailed(f"File or directory exists where the symlink {path} should be")
        with _named(path), held(path) as (folder, name), replacing(folder, name) as temporary:
            os.symlink(target, temporary, dir_fd=folder)

    def remove(self, path: str) -> None:
        """Remove a file, symlink or whole directory tree; symlinks are never followed."""
        if not os.path.lexists(path):
            return
        import shutil

        if not shutil.rmtree.avoids_symlink_attacks:
            raise StateFailed(f"{path} is not removed: this system cannot walk a tree without following symlinks")
        with _named(path), held(path) as (folder, name):
            if stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
                shutil.rmtree(name, dir_fd=folder)
            else:
                os.unlink(name, dir_fd=folder)

    def link(self, target: str, path: str) -> None:
        """Make `path` a hard link of `target`, replacing a file that is there."""
        with held(target) as (other, origin), _named(path), held(path) as (folder, name):  # noqa: SIM117  (too long)
            with replacing(folder, name) as temporary:
                os.link(origin, temporary, src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)

    def mknod(self, path: str, mode: int, device: tuple[int, int]) -> None:
        """Make a pipe or a device node."""
        with _named(path), held(path) as (folder, name):
            os.mknod(name, mode, os.makedev(*device), dir_fd=folder)

    def rename(self, source: str, path: str) -> None:
        """Move a file or directory."""
        import errno

        with held(source) as (other, origin), _named(path), held(path) as (folder, name):
            try:
                os.rename(origin, name, src_dir_fd=other, dst_dir_fd=folder)
                return
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
        import shutil

        shutil.move(source, path)  # to another file system there is no way but a copy

    def utime(self, path: str, atime: float | None, mtime: float | None) -> None:
        """Set times; None: now."""
        import time

        now = time.time()
        with held(path) as (folder, name):
            os.utime(name, (now if atime is None else atime, now if mtime is None else mtime), dir_fd=folder)

    def run(
        self,
        argv: Sequence[str] | str,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        runas: str | None = None,
        timeout: float | None = None,
        stdin: str | None = None,
    ) -> Completed:
        """Run a command; a string goes through `/bin/sh -c`."""
        from minion.machine.process import run

        return run(argv, cwd=cwd, env=env, runas=runas, timeout=timeout, stdin=stdin)


@contextlib.contextmanager
def _named(path: str) -> Iterator[None]:
    """An error of the system names the path that the state means, not with that of a temporary file."""
    try:
        yield
    except OSError as error:
        raise type(error)(error.errno, error.strerror, path) from error


def _set_owner_and_mode(descriptor: int, folder: int, name: str, mode: str | None, path: str) -> None:
    """Give a new file the owner and mode of the one that it replaces, or the mode wanted."""
    try:
        old = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        os.fchmod(descriptor, int(mode or "0644", 8))
        return
    if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
        try:
            os.fchown(descriptor, old.st_uid, old.st_gid)
        except PermissionError:
            kept = FileStat(old)
            raise StateFailed(
                f"{path} belongs to {kept.user}:{kept.group}, and the system does not let this minion, which runs as "
                f"uid {os.geteuid()}, keep it so"
            ) from None
    os.fchmod(descriptor, int(mode, 8) if mode else stat.S_IMODE(old.st_mode))


def _all_of(descriptor: int, size: int) -> bytes:
    """What is in a file that is about `size` bytes long; files of /proc say that they are empty."""
    parts = [os.read(descriptor, size + 1 if size else 1 << 16)]
    if size and len(parts[0]) == size:
        return parts[0]
    while parts[-1]:
        parts.append(os.read(descriptor, _PIECE))
    return b"".join(parts)


def _write_all(descriptor: int, data: bytes) -> None:
    left = memoryview(data)
    while left:
        left = left[os.write(descriptor, left) :]


def _copy_all(origin: int, descriptor: int) -> None:
    """Piece by piece; what is empty in a sparse file stays so."""
    size = 0
    while piece := os.read(origin, _PIECE):
        size += len(piece)
        if piece == _NOTHING[: len(piece)]:
            os.lseek(descriptor, size, os.SEEK_SET)
        else:
            _write_all(descriptor, piece)
    os.ftruncate(descriptor, size)


def _uid(user: str | int | None) -> int:
    import pwd

    if user is None:
        return -1
    if isinstance(user, int) or user.isdigit():
        return int(user)
    try:
        return pwd.getpwnam(user).pw_uid
    except KeyError:
        raise StateFailed(f"User {user} is not available") from None


def _gid(group: str | int | None) -> int:
    import grp

    if group is None:
        return -1
    if isinstance(group, int) or group.isdigit():
        return int(group)
    try:
        return grp.getgrnam(group).gr_gid
    except KeyError:
        raise StateFailed(f"Group {group} is not available") from None
