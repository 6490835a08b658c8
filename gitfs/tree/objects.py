"""Reads mirrors' objects, with what is worth keeping kept for the life of the process.

Called by `gitfs.tree.git_layer`. Everything kept is keyed by the id of an immutable object, so nothing here is ever
stale. A process that forks starts its child with empty caches: an open repository is not shared between processes.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import TypeVar

import pygit2
from cachetools import LRUCache, cached
from cachetools.keys import hashkey
from pygit2.enums import FileMode, ObjectType

from gitfs.errors import DamagedMirror
from gitfs.tree.lfs_index import lfs_contents
from gitfs.tree.listing import USUAL_MODE, Listing, resolve_links

DAMAGED = "damaged"
"""File beside a mirror's repository that says that an object of it could not be read."""
_T = TypeVar("_T")
_UNREADABLE = (pygit2.GitError, KeyError, ValueError, OSError)


@lru_cache(maxsize=64)
def listing(mirror: str, tree: str, lfs: bool = False) -> Listing:
    """The files of the tree with this id (empty: no tree) in a mirror; with `lfs`, contents in place of pointers."""
    files: dict[str, str] = {}
    links: dict[str, str] = {}
    modes: dict[str, int] = {}
    waiting = [("", tree)] if tree else []
    while waiting:
        prefix, oid = waiting.pop()
        for name, mode, inner in _entries(mirror, oid):
            path = prefix + name
            if mode == FileMode.TREE:
                waiting.append((path + "/", inner))
            elif mode == FileMode.LINK:
                links[path] = blob(mirror, inner).decode(errors="surrogateescape")
            else:
                files[path] = inner
                if mode & 0o777 != USUAL_MODE:
                    modes[path] = mode & 0o777
    if lfs:
        contents = lfs_contents(mirror)
        files = {path: contents.get(oid, oid) for path, oid in files.items()}
    return resolve_links(files, links, modes)


@lru_cache(maxsize=65536)
def declares_lfs(mirror: str, tree: str) -> bool:
    """Whether any `.gitattributes` below a tree has something kept by Git LFS."""
    return bool(tree) and reading(mirror, lambda repository: declares_lfs_in(repository, tree))


@cached(LRUCache(200_000), key=lambda _, tree: hashkey(tree), lock=RLock())
def declares_lfs_in(repository: pygit2.Repository, tree: str) -> bool:
    """As `declares_lfs`, in a repository that is open: ids say what they name, in every one.

    Costs nothing for the parts that were looked at before.
    """
    for entry in repository[tree].peel(pygit2.Tree):
        if (kind := entry.type) == ObjectType.TREE:
            if declares_lfs_in(repository, str(entry.id)):
                return True
        elif kind != ObjectType.COMMIT and entry.name == ".gitattributes":
            declares = b"filter=lfs" in repository.odb.read(entry.id)[1]
            if declares:
                return True
    return False


@lru_cache(maxsize=16384)
def _entries(mirror: str, tree: str) -> tuple[tuple[str, int, str], ...]:
    """(name, mode, id) of what is directly in a tree, submodules left out."""

    def read(repository: pygit2.Repository) -> tuple[tuple[str, int, str], ...]:
        found = repository[tree].peel(pygit2.Tree)
        return tuple(
            (_name(entry), int(entry.filemode), str(entry.id)) for entry in found if entry.type != ObjectType.COMMIT
        )

    return reading(mirror, read, f"tree {tree}")


def _name(entry: pygit2.Object) -> str:
    return entry.raw_name.decode(errors="surrogateescape") if entry.raw_name else ""


def blob(mirror: str, oid: str) -> bytes:
    """Content of a blob."""
    return reading(mirror, lambda repository: repository.odb.read(oid)[1], f"blob {oid}")


def blob_size(mirror: str, oid: str) -> int:
    """Bytes of a blob, from its header alone."""
    return reading(mirror, lambda repository: repository.odb.read_header(oid)[1], f"blob {oid}")


def has(mirror: str, oid: str) -> bool:
    """Whether the mirror has an object; one that is not there is no damage."""
    with suppress(*_UNREADABLE):
        return oid in _repository(mirror)
    return False


@lru_cache(maxsize=65536)
def has_links(mirror: str, tree: str) -> bool:
    """Whether any symlink is below a tree. Costs nothing for the parts that were looked at before."""
    return any(
        mode == FileMode.LINK or (mode == FileMode.TREE and has_links(mirror, inner))
        for _, mode, inner in (_entries(mirror, tree) if tree else ())
    )


def find(mirror: str, tree: str, path: str) -> tuple[str, int] | None:
    """Blob id and mode of a file below a tree, by the folders on the way alone; for trees without symlinks."""
    *folders, name = path.split("/")
    for folder in folders:
        inner = next((oid for entry, mode, oid in _named_entries(mirror, tree, folder) if mode == FileMode.TREE), "")
        if not inner:
            return None
        tree = inner
    entries = _named_entries(mirror, tree, name)
    return next(((oid, mode & 0o777) for _, mode, oid in entries if mode != FileMode.TREE), None)


def _named_entries(mirror: str, tree: str, name: str) -> list[tuple[str, int, str]]:
    return [entry for entry in (_entries(mirror, tree) if tree else ()) if entry[0] == name]


@lru_cache(maxsize=65536)
def subtree(mirror: str, commit: str, root: str) -> str:
    """Id of the tree of a commit at `root`; empty when the commit has no such folder."""

    def read(repository: pygit2.Repository) -> str:
        tree = repository[commit].peel(pygit2.Commit).tree
        if not root:
            return str(tree.id)
        try:
            entry = tree[root]
        except KeyError:
            return ""
        return str(entry.id) if entry.filemode == FileMode.TREE else ""

    return reading(mirror, read, f"commit {commit}")


def commit_object(mirror: str, commit: str) -> pygit2.Commit:
    """The commit, for its message and author."""
    return reading(mirror, lambda repository: repository[commit].peel(pygit2.Commit), f"commit {commit}")


@lru_cache(maxsize=64)
def _repository(mirror: str) -> pygit2.Repository:
    return pygit2.Repository(mirror)


def reading(mirror: str, read: Callable[[pygit2.Repository], _T], what: str = "an object") -> _T:
    """`read` on the open repository, and once more on a newly opened one: the mirror may have been rebuilt."""
    try:
        return read(_repository(mirror))
    except _UNREADABLE:
        pass
    try:
        _repository.cache_clear()
        return read(_repository(mirror))
    except _UNREADABLE as error:
        with suppress(OSError):  # no mirror at all, or not ours to write: the error below says enough
            report_damage(mirror)
        # Without the folder: previews show errors to whoever may write a branch.
        why = str(error).replace(mirror, "the mirror")
        raise DamagedMirror(f"{what} cannot be read from the mirror ({why}); the next fetch repairs it") from error


def report_damage(mirror: str) -> None:
    """Have the next fetch of a mirror look at every object, and make the mirror anew if need be."""
    Path(mirror).with_name(DAMAGED).touch()


def _forget() -> None:
    _repository.cache_clear()


os.register_at_fork(after_in_child=_forget)
