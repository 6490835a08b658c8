"""A remote on this machine: its refs are read from its files, and its objects are copied.

Called by `gitfs.mirror.transfers`. Only reads from the remote. For other repositories (another
format of refs, shallow or damaged) git's own protocol is used, which reads each ref of the remote.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from gitfs.limits import GitLimits
from gitfs.mirror import pack_copy
from gitfs.mirror.packs import write_pack
from gitfs.mirror.refdb import RefFiles

MOST_OBJECTS = 5000
MOST_BYTES = 8 * 1024 * 1024
"""Most objects that are packed here; for more, the remote's packs are copied (`gitfs.mirror.pack_copy`)."""
MOST_LOOKED_AT = 500_000
"""Most objects that are searched one by one, at about 150 bytes of memory each."""

_ORDINARY = ("HEAD", "objects", "refs")
_UNUSUAL = ("shallow", "commondir", "reftable")


class TooManyObjects(Exception):
    """More objects are missing than are searched one by one."""


class LocalRemote:
    """The repository of a local remote."""

    def __init__(self, path: Path, limits: GitLimits | None = None) -> None:
        self._path = path
        self._limits = limits or GitLimits()
        self._files: RefFiles | None = None

    def fault(self) -> str | None:
        """Why no repository can be read here; None when there may be one."""
        try:
            is_folder = self._path.is_dir()
            found = is_folder or self._path.exists()
        except OSError as error:
            return f"its folder {self._path} cannot be read: {error.strerror}"
        if not found:
            return f"its folder {self._path} is gone; put the repository back, mount it, or correct the address"
        return None if is_folder else f"{self._path} is a file and no folder with a repository; correct the address"

    def refs(self) -> dict[str, str] | None:
        """Full name -> id of all refs; None where git's own protocol is needed. TooManyRefs."""
        folder = self._path / ".git" if (self._path / ".git").is_dir() else self._path
        if any(not (folder / name).exists() for name in _ORDINARY) or any((folder / x).exists() for x in _UNUSUAL):
            return None
        if self._files is None or self._files.folder != folder:
            self._files = RefFiles(folder, watched=True, most_bytes=self._limits.advertisement_bytes)
        try:
            (found,) = self._files.below("")
        except (OSError, ValueError):
            return None  # a symbolic ref, or one that is damaged
        return found

    def copy(self, into: pygit2.Repository, wanted: Iterable[str]) -> bool:
        """Copy these objects with all that they reach; False when git's own protocol is needed."""
        source = None
        try:
            source = pygit2.Repository(str(self._path))
            missing, size = _missing(source, into, wanted)
            if len(missing) > MOST_OBJECTS or size > MOST_BYTES:
                pack_copy.fetch_commit(source, into, missing)
            elif missing:
                # One pack, there or not there, whenever we are killed. Not single files: libgit2 never comes back from
                # reading one that a power cut has shortened.
                write_pack(source, missing, Path(into.path) / "objects" / "pack")
        except (TooManyObjects, pack_copy.Unsuitable, pygit2.GitError, KeyError, ValueError, OSError):
            return False
        finally:
            if source is not None:
                source.free()  # libgit2 shares open packs, and would still use one that was repaired meanwhile
        return True


def _missing(source: pygit2.Repository, into: pygit2.Repository, wanted: Iterable[str]) -> tuple[list[pygit2.Oid], int]:
    """The objects that `into` lacks of these and of all that they reach, and their bytes."""
    found: dict[pygit2.Oid, None] = {}
    waiting = [pygit2.Oid(hex=oid) for oid in wanted]
    size = 0
    while waiting:
        oid = waiting.pop()
        if oid not in found and oid not in into:
            kind, length = source.odb.read_header(oid)[:2]
            size += length
            if len(waiting) > MOST_LOOKED_AT * 4 or len(found) > MOST_LOOKED_AT:
                raise TooManyObjects
            found[oid] = None
            waiting.extend(_inside(source, oid, kind))
    return list(found), size


def _inside(source: pygit2.Repository, oid: pygit2.Oid, kind: int) -> list[pygit2.Oid]:
    if kind == ObjectType.COMMIT:
        commit = source[oid].peel(pygit2.Commit)
        return [*commit.parent_ids, commit.tree_id]
    if kind == ObjectType.TREE:
        return [entry.id for entry in source[oid].peel(pygit2.Tree) if entry.type != ObjectType.COMMIT]
    if kind == ObjectType.TAG:
        return [pygit2.Oid(hex=str(source[oid].peel(pygit2.Tag).target))]
    return []
