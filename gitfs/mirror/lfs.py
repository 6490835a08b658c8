"""Git LFS: contents that a commit names by pointers are fetched before it goes live, and kept as blobs of the mirror.

    <repository>/saltern-lfs             a line for each pointer: its blob id, and that of the content
    <repository>/saltern-lfs.part-<oid>  a content as far as it has come

Called by `gitfs.mirror.ref_updates`; `gitfs.tree.objects` shows the contents in place of the pointers. Follows the
batch API and the pointer format of the Git LFS specification (https://github.com/git-lfs/git-lfs/tree/main/docs).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import local_path
from gitfs.transport.lfs_server import Directory, LfsFailed, LfsServer, LfsSource, Transfer
from gitfs.tree.lfs_index import drop_parts, keep_lfs_contents, lfs_contents, part_of
from gitfs.tree.objects import declares_lfs_in

LARGEST_POINTER = 1024
LARGEST_CONTENT = 2 * 1024**3
_POINTER = re.compile(
    rb"version https://git-lfs\.github\.com/spec/v1\n(?:ext-[^\n]*\n)*oid sha256:([0-9a-f]{64})\nsize (\d{1,15})\n"
)


@dataclass(frozen=True, slots=True)
class Pointer:
    """A file whose content is kept elsewhere."""

    blob: str
    """Id of the pointer's own blob."""
    sha256: str
    size: int


class Lfs:
    """The LFS contents of one remote."""

    writes = True

    def __init__(self, settings: RemoteSettings) -> None:
        self._settings = settings
        self._pointers: dict[pygit2.Oid, tuple[Pointer, ...]] = {}

    def complete(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Have every content that a commit points to; why that is not so, or None."""
        tree = repository[commit].peel(pygit2.Commit).tree
        if not declares_lfs_in(repository, str(tree.id)):
            return None
        known = lfs_contents(repository.path)
        wanted = {each.sha256: each for each in self._in(repository, tree) if each.blob not in known}
        if too_large := next((each for each in wanted.values() if each.size > LARGEST_CONTENT), None):
            return f"LFS object {too_large.sha256[:12]} has {too_large.size} bytes; {LARGEST_CONTENT} are taken"
        try:
            self._bring(repository, wanted)
        except LfsFailed as error:
            return f"LFS: {error}; `lfs: false` shows the pointers instead"
        return None

    def _in(self, repository: pygit2.Repository, tree: pygit2.Tree) -> tuple[Pointer, ...]:
        """The pointers below a tree; looks only at what it has not seen before."""
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

    def _bring(self, repository: pygit2.Repository, wanted: dict[str, Pointer]) -> None:
        if not wanted:
            return
        where = local_path(self._settings.url)
        server: Transfer = LfsServer(self._settings) if where is None else Directory(where)
        fresh: dict[str, str] = {}
        drop_parts(repository.path, but=wanted)
        try:
            for sha256, source in server.sources({each.sha256: each.size for each in wanted.values()}).items():
                fresh[wanted[sha256].blob] = _received(repository, wanted[sha256], source)
        finally:
            keep_lfs_contents(Path(repository.path), {**lfs_contents(repository.path), **fresh})


def _received(repository: pygit2.Repository, pointer: Pointer, source: LfsSource) -> str:
    """Blob id of a content. What had come when the connection or we ended is not fetched again."""
    part = part_of(repository.path, pointer.sha256)
    with part.open("ab") as file:
        if file.tell() > pointer.size:
            file.truncate(0)
        if file.tell() < pointer.size:
            source(file, pointer.size)
    try:
        _check(part, pointer)
        return str(repository.create_blob_fromdisk(str(part)))
    finally:
        part.unlink()


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
