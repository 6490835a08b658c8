"""Git LFS: the contents of a commit's pointers are fetched before it goes live, and kept as blobs of the mirror.

    <repository>/saltern-lfs             a line for each pointer: its blob id, and that of the content
    <repository>/saltern-lfs.part-<oid>  the part of a content received so far; locked (fcntl) by its writer
    <repository>/saltern-lfs.part-<oid>.whole  one that has come whole, and is no blob yet

Called by `gitfs.mirror.ref_updates`; `gitfs.tree.objects` shows the contents in place of the pointers. Follows the
batch API and the pointer format of the Git LFS specification (https://github.com/git-lfs/git-lfs/tree/main/docs).
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import local_path
from gitfs.errors import BadTree
from gitfs.limits import GitLimits
from gitfs.transport.lfs_server import Directory, LfsFailed, LfsServer, LfsSource, Transfer
from gitfs.tree.lfs_index import drop_unused_parts, keep_lfs_contents, lfs_contents, part_of, whole_part_of
from gitfs.tree.objects import declares_lfs_in

LARGEST_POINTER = 1024
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n"
)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A pointer: the file's content is on the LFS server."""

    blob: str
    """Id of the pointer's own blob."""
    sha256: str
    size: int


class Lfs:
    """The LFS contents of one remote.

    Args:
        settings: the remote.
        limits: see there.
        submodule_of: URL of the remote that it is a submodule of.
    """

    in_repository = True

    def __init__(
        self, settings: RemoteSettings, limits: GitLimits | None = None, submodule_of: str | None = None
    ) -> None:
        self._settings = settings
        self._submodule_of = submodule_of
        self._limits = limits or GitLimits()
        self._pointers: dict[pygit2.Oid, tuple[Pointer, ...]] = {}

    def is_there(self, repository: pygit2.Repository, commit: str) -> bool:
        """See `Completion`: whether the mirror has every content that a commit points to."""
        return not self._wanted(repository, commit)

    def is_damaged(self) -> bool:
        """See `Completion`: contents are objects of the mirror, whose own fetch looks at them."""
        return False

    def bring(self, repository: pygit2.Repository, commit: str) -> str | None:
        """See `Completion`: contents come into files beside the repository's objects."""
        wanted = self._wanted(repository, commit)
        if not wanted:
            return None
        try:
            where = local_path(self._settings.url)
            server: Transfer = LfsServer(self._settings, self._submodule_of) if where is None else Directory(where)
            for sha256, source in server.sources({each.sha256: each.size for each in wanted.values()}).items():
                _receive(
                    whole_part_of(repository.path, sha256), part_of(repository.path, sha256), wanted[sha256], source
                )
        except LfsFailed as error:
            return f"LFS: {error}; `lfs: false` shows the pointers instead"
        return None

    def store(self, repository: pygit2.Repository, commit: str) -> str | None:
        """See `Completion`: contents that came become blobs."""
        wanted = self._wanted(repository, commit)
        fresh: dict[str, str] = {}
        for pointer in wanted.values():
            part = whole_part_of(repository.path, pointer.sha256)
            if part.exists():
                fresh[pointer.blob] = str(repository.create_blob_fromdisk(str(part)))
        if fresh:
            keep_lfs_contents(Path(repository.path), {**lfs_contents(repository.path), **fresh})
        for pointer in wanted.values():
            whole_part_of(repository.path, pointer.sha256).unlink(missing_ok=True)
        drop_unused_parts(repository.path)
        lost = next((each for each in wanted.values() if each.blob not in fresh), None)
        return f"LFS: object {lost.sha256[:12]} was dropped again; it will be brought anew" if lost else None

    def _wanted(self, repository: pygit2.Repository, commit: str) -> dict[str, Pointer]:
        """SHA-256 -> what a commit points to and the mirror lacks; BadTree where that is too much."""
        tree = repository[commit].peel(pygit2.Commit).tree
        if not declares_lfs_in(repository, str(tree.id)):
            return {}
        known = lfs_contents(repository.path)
        wanted = {each.sha256: each for each in self._in(repository, tree) if each.blob not in known}
        limits = self._limits
        if large := next((each for each in wanted.values() if each.size > limits.lfs_bytes), None):
            what = f"LFS object {large.sha256[:12]} has {large.size} bytes"
            raise BadTree(f"{what}; {limits.lfs_bytes} are taken", "lfs-bytes")
        if (size := sum(each.size for each in wanted.values())) > limits.lfs_commit_bytes:
            what = f"its LFS objects have {size} bytes together"
            raise BadTree(f"{what}; {limits.lfs_commit_bytes} are taken", "lfs-commit-bytes")
        return wanted

    def _in(self, repository: pygit2.Repository, tree: pygit2.Tree) -> tuple[Pointer, ...]:
        """The pointers below a tree; trees that were read before are not read again."""
        if tree.id not in self._pointers:
            found: dict[Pointer, None] = {}
            for entry in tree:
                if entry.filemode == FileMode.TREE:
                    found |= dict.fromkeys(self._in(repository, repository[entry.id].peel(pygit2.Tree)))
                elif entry.filemode in (FileMode.BLOB, FileMode.BLOB_EXECUTABLE):
                    pointer = _pointer(repository, entry.id)
                    found |= {} if pointer is None else {pointer: None}
            self._pointers[tree.id] = tuple(found)
        return self._pointers[tree.id]


def _receive(whole: Path, part: Path, pointer: Pointer, source: LfsSource) -> None:
    """Have a content whole. What had come when the connection or we ended is not fetched again."""
    with part.open("ab") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)  # another process may want it too
        if whole.exists():
            part.unlink(missing_ok=True)
            return
        file.seek(0, os.SEEK_END)
        if file.tell() > pointer.size:
            file.truncate(0)
        if file.tell() < pointer.size:
            source(file, pointer.size)
        file.flush()
        try:
            _check(part, pointer)
        except BaseException:
            part.unlink(missing_ok=True)
            raise
        part.replace(whole)


def _pointer(repository: pygit2.Repository, oid: pygit2.Oid) -> Pointer | None:
    _, size = repository.odb.read_header(oid)[:2]
    if not 100 < size <= LARGEST_POINTER:
        return None
    match = _POINTER.match(repository.odb.read(oid)[1])
    return Pointer(str(oid), match[1].decode(), int(match[2])) if match else None


def _check(path: Path, pointer: Pointer) -> None:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != pointer.sha256:
        raise LfsFailed(f"object {pointer.sha256[:12]} has another content than the pointer says")
