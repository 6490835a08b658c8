"""The machine itself, as states see it: `Reader` and `Machine` of `minion.states.plan` on the real system.

Made by the worker and by `saltern call`. Files are replaced by rename, with what was written on disk before it, so
that a crash leaves the old file or the new one. It decides nothing about what ought to be.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from minion.states.plan import Completed, FileStat, StateFailed, Value


class Sources(Protocol):
    """Where `salt://` files come from. For templates that import others it must be a whole `highstate.types.Files`."""

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content; FileNotFoundError when there is none."""

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths at or below a folder, sorted."""


@dataclass(kw_only=True)
class LocalMachine:
    """`Machine` on the system that this process runs on."""

    sources_port: Sources
    minion_id: str = ""
    grains: Mapping[str, Value] = field(default_factory=dict)
    pillar: Mapping[str, Value] = field(default_factory=dict)
    opts: Mapping[str, Value] = field(default_factory=dict)
    functions: Mapping[str, Callable[..., Value]] = field(default_factory=dict)
    """Execution functions that templates may call."""
    accumulated: dict[str, dict[str, list[Value]]] = field(default_factory=dict)
    """What file.accumulated has gathered in this run."""

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
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return _all_of(descriptor, os.fstat(descriptor).st_size)
        finally:
            os.close(descriptor)

    def listdir(self, path: str) -> Sequence[str]:
        """Names in a directory, sorted."""
        return sorted(os.listdir(path))  # noqa: PTH208

    def query(self, argv: Sequence[str], *, env: Mapping[str, str] | None = None) -> Completed:
        """Run a command that only reads."""
        return self.run(list(argv), env=env)

    def source(self, path: str, saltenv: str = "base") -> bytes:
        """Content of `salt://path`."""
        return self.sources_port.read(path, saltenv)

    def sources(self, prefix: str, saltenv: str = "base") -> Sequence[str]:
        """Paths of `salt://prefix/...`, sorted."""
        return self.sources_port.list(prefix, saltenv)

    def render(self, path: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """`salt://path` rendered with Jinja; StateFailed with line and caret when it cannot be."""
        from minion.states.templates import render

        return render(self, path, saltenv, context)

    def render_text(self, text: str, engine: str, saltenv: str, context: Mapping[str, Value]) -> bytes:
        """A text rendered; StateFailed when it cannot be."""
        from minion.states.templates import render_text

        return render_text(self, text, engine, saltenv, context)

    def fetch(self, url: str) -> bytes | None:
        """What a URL gives."""
        from minion.states.fetch import fetch

        return fetch(url)

    # --- write ------------------------------------------------------------------------------------------------------

    def write(self, path: str, data: bytes, *, mode: str | None = None) -> None:
        """Replace a file's content atomically, keeping owner and mode unless `mode` is given (new files: 0644)."""
        folder, name = os.path.split(path)
        temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}")  # noqa: PTH118
        # O_EXCL makes a file of our own or fails: a symlink that somebody laid there is never written through.
        descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                self._dress(descriptor, path, mode)
                os.fsync(descriptor)
            os.replace(temporary, path)  # noqa: PTH105
        except BaseException:
            os.unlink(temporary)  # noqa: PTH108
            raise
        _sync_folder(folder)

    def mkdir(self, path: str, *, parents: bool = False, mode: str | None = None) -> None:
        """Make a directory; with `parents`, those above it too, with the same mode. One that is there is let be."""
        if parents and not os.path.isdir(os.path.dirname(path)):  # noqa: PTH112, PTH120
            self.mkdir(os.path.dirname(path), parents=True, mode=mode)  # noqa: PTH120
        try:
            os.mkdir(path, 0o700 if mode else 0o755)  # noqa: PTH102
        except FileExistsError:
            if not os.path.isdir(path):  # noqa: PTH112
                raise
            return
        self.chmod(path, mode or "0755")

    def chmod(self, path: str, mode: str) -> None:
        """Set the mode of a file or directory; a symlink is never followed to something else's mode."""
        descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if stat.S_ISLNK(os.fstat(descriptor).st_mode):
                raise StateFailed(f"{path} has become a symlink: its mode is not changed")
            os.chmod(f"/proc/self/fd/{descriptor}", int(mode, 8))  # noqa: PTH101
        finally:
            os.close(descriptor)

    def chown(self, path: str, user: str | int | None, group: str | int | None) -> None:
        """Set owner and group of the path itself, never of what a symlink points to; None leaves it."""
        uid, gid = _uid(user), _gid(group)
        mode = stat.S_IMODE(os.lstat(path).st_mode)
        try:
            os.chown(path, uid, gid, follow_symlinks=False)
        except PermissionError:
            wanted = ":".join("" if one is None else str(one) for one in (user, group))
            raise StateFailed(f"Failed to change the owner of {path} to {wanted}: the system refuses it") from None
        if mode & 0o6000 and not os.path.islink(path):  # noqa: PTH114  (the kernel clears setuid and setgid)
            self.chmod(path, f"{mode:04o}")

    def symlink(self, target: str, path: str) -> None:
        """Make `path` a symlink to `target`, replacing a symlink that is there."""
        folder, name = os.path.split(path)
        temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}")  # noqa: PTH118
        if os.path.lexists(path) and not os.path.islink(path):  # noqa: PTH114
            raise StateFailed(f"File or directory exists where the symlink {path} should be")
        os.symlink(target, temporary)  # noqa: PTH211
        try:
            os.replace(temporary, path)  # noqa: PTH105
        except BaseException:
            os.unlink(temporary)  # noqa: PTH108
            raise
        _sync_folder(folder)

    def remove(self, path: str) -> None:
        """Remove a file, symlink or whole directory tree; symlinks are never followed."""
        try:
            if not stat.S_ISDIR(os.lstat(path).st_mode):
                os.unlink(path)  # noqa: PTH108
                return
        except FileNotFoundError:
            return
        import shutil

        if not shutil.rmtree.avoids_symlink_attacks:
            raise StateFailed(f"{path} is not removed: this system cannot walk a tree without following symlinks")
        shutil.rmtree(path)

    def link(self, target: str, path: str) -> None:
        """Make `path` a hard link of `target`, replacing a file that is there."""
        folder, name = os.path.split(path)
        temporary = os.path.join(folder, f".{name[:200]}.{secrets.token_hex(8)}")  # noqa: PTH118
        os.link(target, temporary, follow_symlinks=False)
        try:
            os.replace(temporary, path)  # noqa: PTH105
        except BaseException:
            os.unlink(temporary)  # noqa: PTH108
            raise
        _sync_folder(folder)

    def rename(self, source: str, path: str) -> None:
        """Move a file or directory."""
        import shutil

        shutil.move(source, path)

    def utime(self, path: str, atime: float | None, mtime: float | None) -> None:
        """Set times; None: now."""
        import time

        now = time.time()
        os.utime(path, (now if atime is None else atime, now if mtime is None else mtime))

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
        from minion.states.process import run

        return run(argv, cwd=cwd, env=env, runas=runas, timeout=timeout, stdin=stdin)

    def _dress(self, descriptor: int, path: str, mode: str | None) -> None:
        """Give a new file the owner and mode of the one that it replaces, or the mode wanted."""
        try:
            old = os.lstat(path)
        except FileNotFoundError:
            os.fchmod(descriptor, int(mode or "0644", 8))
            return
        if (old.st_uid, old.st_gid) != (os.geteuid(), os.getegid()):
            try:
                os.fchown(descriptor, old.st_uid, old.st_gid)
            except PermissionError:
                kept = FileStat(old)
                raise StateFailed(
                    f"{path} belongs to {kept.user}:{kept.group}, and the system does not let this minion, which runs "
                    f"as uid {os.geteuid()}, keep it so"
                ) from None
        os.fchmod(descriptor, int(mode, 8) if mode else stat.S_IMODE(old.st_mode))


def _all_of(descriptor: int, size: int) -> bytes:
    """What is in a file that is about `size` bytes long; files of /proc say that they are empty."""
    parts = [os.read(descriptor, size + 1 if size else 1 << 16)]
    if size and len(parts[0]) == size:
        return parts[0]
    while parts[-1]:
        parts.append(os.read(descriptor, 1 << 20))
    return b"".join(parts)


def _sync_folder(folder: str) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
