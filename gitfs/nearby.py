"""A remote on this machine: its refs are read from its files, and the few objects of a push are copied.

Called by `gitfs.mirror`. Only reads from the remote. Whatever is out of the ordinary (another format of refs, a shallow
or damaged repository, much to copy) is left to git's own protocol, which costs a look at each ref of the remote.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pygit2
from pygit2.enums import FileMode, ObjectType

from gitfs.reffiles import RefFiles

MOST_OBJECTS = 5000
MOST_BYTES = 64 * 1024 * 1024
"""What is looked for one by one."""

_ORDINARY = ("HEAD", "objects", "refs")
_UNUSUAL = ("shallow", "commondir", "reftable")


class Unusual(Exception):
    """More has to come than is looked for one by one, or something rare."""


class Nearby:
    """The repository of a local remote."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files: RefFiles | None = None

    def refs(self) -> dict[str, str] | None:
        """Full name -> id of all refs; None where git's own protocol has to ask."""
        folder = self._path / ".git" if (self._path / ".git").is_dir() else self._path
        if any(not (folder / name).exists() for name in _ORDINARY) or any((folder / x).exists() for x in _UNUSUAL):
            return None
        if self._files is None or self._files.folder != folder:
            self._files = RefFiles(folder, watched=True)
        try:
            (found,) = self._files.below("")
        except (OSError, ValueError):
            return None  # a symbolic ref, or one that is damaged
        return found

    def copy(self, into: pygit2.Repository, wanted: Iterable[str]) -> bool:
        """Have these ids with all that they lead to; False when git's own protocol has to bring them."""
        source = None
        try:
            source = pygit2.Repository(str(self._path))
            missing = _missing(source, into, wanted)
            if missing:
                # One pack, there or not there, whenever we are killed. Not single files: libgit2 never comes back from
                # reading one that a power cut has shortened.
                folder = Path(into.path) / "objects" / "pack"
                packer = pygit2.Repository()  # of no refs: to order a pack, libgit2 opens each one that there is
                packer.set_odb(source.odb)
                packer.pack(str(folder), pack_delegate=lambda builder: _add(builder, missing), n_threads=1)
        except (Unusual, pygit2.GitError, KeyError, ValueError, OSError):
            return False
        finally:
            if source is not None:
                source.free()  # libgit2 shares open packs, and would go on with one that is mended meanwhile
        return True


def _add(builder: pygit2.PackBuilder, missing: Iterable[pygit2.Oid]) -> None:
    for oid in missing:
        builder.add(oid)


def _missing(source: pygit2.Repository, into: pygit2.Repository, wanted: Iterable[str]) -> list[pygit2.Oid]:
    """What `into` lacks of these objects and of all that they lead to."""
    found: dict[pygit2.Oid, None] = {}
    waiting = [pygit2.Oid(hex=oid) for oid in wanted]
    size = 0
    while waiting:
        oid = waiting.pop()
        if oid not in found and oid not in into:
            kind, length = source.odb.read_header(oid)[:2]
            size += length
            # A tag is rare, and what it leads to is for git's protocol to find.
            if (
                len(waiting) > MOST_OBJECTS * 20
                or len(found) > MOST_OBJECTS
                or size > MOST_BYTES
                or kind == ObjectType.TAG
            ):
                raise Unusual
            found[oid] = None
            waiting.extend(_inside(source, oid, kind))
    return list(found)


def _inside(source: pygit2.Repository, oid: pygit2.Oid, kind: int) -> list[pygit2.Oid]:
    if kind == ObjectType.COMMIT:
        commit = source[oid].peel(pygit2.Commit)
        return [*commit.parent_ids, commit.tree_id]
    if kind == ObjectType.TREE:
        return [entry.id for entry in source[oid].peel(pygit2.Tree) if entry.filemode != FileMode.COMMIT]
    return []
