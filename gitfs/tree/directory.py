"""Local folders (`file_roots`) as immutable layers: scanned once, and read only as long as they are what was seen.

Called by `gitfs.tree.snapshot` and `gitfs.source`. Never follows a symlink out of the folder, never opens a special
file.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path

from gitfs.errors import StaleSnapshot, UnreadableFolder
from gitfs.tree.listing import USUAL_MODE, Listing, resolve_links

_IGNORED = (".git",)


@dataclass(frozen=True, kw_only=True)
class DirectoryLayer:
    """A folder as it was when it was scanned."""

    path: str
    files: tuple[tuple[str, str], ...] = field(repr=False)
    """(path, blob id), sorted; symlinks resolved."""
    refused: tuple[tuple[str, str], ...] = ()
    modes: tuple[tuple[str, int], ...] = field(default=(), repr=False)
    """(path, permission bits) of the files that are not `listing.USUAL_MODE`, sorted."""
    digest: str
    mountpoint: str = ""
    links: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    """(path, target) of the symlinks, sorted."""

    @property
    def key(self) -> str:
        """Equal keys mean equal files."""
        return f"directory:{self.digest}"

    @cached_property
    def listing(self) -> Listing:
        """The files, for look-ups."""
        return Listing(dict(self.files), dict(self.refused), dict(self.modes), dict(self.links))

    def read(self, path: str, oid: str) -> bytes:
        """Content of a file that is still the blob `oid`; StaleSnapshot when it is not."""
        try:
            data = _read_regular(Path(self.path, path))
        except OSError as error:
            raise _stale(path, "gone") from error
        if blob_id(data) != oid:
            raise _stale(path, "changed")
        return data

    def size(self, path: str, oid: str) -> int:
        """Bytes of a file that is still the blob `oid`; StaleSnapshot when it is not."""
        with self._opened(path, oid) as descriptor:
            return os.fstat(descriptor).st_size

    def read_range(self, path: str, oid: str, offset: int, length: int) -> bytes:
        """Part of a file that is still the blob `oid`; StaleSnapshot when it is not."""
        with self._opened(path, oid) as descriptor:
            left = max(0, os.fstat(descriptor).st_size - offset)
            return os.pread(descriptor, min(length, left), offset)  # which takes the memory before it reads

    @contextmanager
    def _opened(self, path: str, oid: str) -> Iterator[int]:
        """The file, which nobody wrote to since it was hashed, nor while it was in use here."""
        whole = Path(self.path, path)
        try:
            descriptor = os.open(whole, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as error:
            raise _stale(path, "gone") from error
        try:
            before = os.fstat(descriptor)
            if _oid_at(str(whole), before) == oid:
                yield descriptor
                if _oid_at(str(whole), os.fstat(descriptor)) == oid:
                    return
            raise _stale(path, "changed")
        finally:
            os.close(descriptor)


def _stale(path: str, what: str) -> StaleSnapshot:
    """Without the folder: previews show errors to whoever may write a branch."""
    return StaleSnapshot(f"{path} below file_roots has {what} since the snapshot was taken; try again")


def blob_id(data: bytes) -> str:
    """Git's SHA-1 id of a blob with this content (gitformat-object)."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def scan(directory: str | Path) -> DirectoryLayer:
    """The layer of a folder as it is now; a folder that does not exist is an empty one."""
    top = Path(directory).absolute()
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    modes: dict[str, int] = {}
    for entry in _walk(top):
        path = Path(entry.path).relative_to(top).as_posix()
        try:
            if entry.is_symlink():
                links[path] = _target(top, entry)
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                files[path] = _oid_at(entry.path, status)
                if (mode := stat.S_IMODE(status.st_mode)) != USUAL_MODE:
                    modes[path] = mode
        except FileNotFoundError:
            continue  # removed while we looked: the watch will call again
        except OSError as error:
            raise UnreadableFolder(str(top), path, _reason(error)) from error
    found = resolve_links(files, links, modes)
    whole = hashlib.sha256()
    for path, oid in sorted(found.files.items()):
        whole.update(path.encode(errors="surrogateescape") + b"\0" + oid.encode() + b"\n")
    whole.update(repr(sorted(found.modes.items())).encode() if found.modes else b"")
    whole.update(repr(sorted(found.links.items())).encode() if found.links else b"")
    return DirectoryLayer(
        path=str(top),
        files=tuple(sorted(found.files.items())),
        refused=tuple(sorted(found.refused.items())),
        modes=tuple(sorted(found.modes.items())),
        digest=whole.hexdigest(),
        links=tuple(sorted(found.links.items())),
    )


def _walk(top: Path) -> Iterator[os.DirEntry[str]]:
    """All entries below, folders excepted; symlinks are not followed."""
    waiting = [str(top)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _IGNORED:
                            waiting.append(entry.path)
                    else:
                        yield entry
        except FileNotFoundError:
            continue
        except OSError as error:
            raise UnreadableFolder(str(top), os.path.relpath(folder, top), _reason(error)) from error


def _reason(error: OSError) -> str:
    return error.strerror or type(error).__name__


def _target(top: Path, entry: os.DirEntry[str]) -> str:
    """A symlink's target, absolute ones that stay inside made relative to the link's folder."""
    link = Path(entry.path)
    target = link.readlink()
    if target.is_absolute() and target.is_relative_to(top):
        return os.path.relpath(target, link.parent)
    return str(target)


def _oid_at(path: str, status: os.stat_result) -> str:
    return _oid_of(path, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino)


@lru_cache(maxsize=65536)
def _oid_of(path: str, size: int, mtime_ns: int, ctime_ns: int, inode: int) -> str:
    """The blob id; the arguments beside the path make it be read again when the file was written."""
    return blob_id(_read_regular(Path(path)))


def _read_regular(path: Path) -> bytes:
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise FileNotFoundError(f"{path} is not a regular file")
        return file.read()
