"""Reads mirrors' objects, with what is worth keeping kept for the life of the process.

Called by `gitfs.tree.snapshot`. Everything kept is keyed by the id of an immutable object, so nothing here is ever
stale. A process that forks starts its child with empty caches: an open repository is not shared between processes.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import TypeVar

import pygit2
from cachetools import LRUCache, cached
from cachetools.keys import hashkey
from pygit2.enums import FileMode

from gitfs.errors import DamagedMirror
from gitfs.tree.lfs_index import lfs_contents

DAMAGED = "damaged"
"""File beside a mirror's repository that says that an object of it could not be read."""
_T = TypeVar("_T")
_LINKS_FOLLOWED = 40
"""Symlinks on the way to one file; the kernel's own limit."""
USUAL_MODE = 0o644
MOST_LINKED = 200_000
"""Files of a tree that are seen through symlinks to folders."""

_UNREADABLE = (pygit2.GitError, KeyError, ValueError, OSError)


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a tree, symlinks resolved."""

    files: Mapping[str, str]
    """Path -> blob id."""
    refused: Mapping[str, str]
    """Path of each symlink that cannot be followed -> why."""
    modes: Mapping[str, int] = field(default_factory=dict)
    """Path -> permission bits, for the files that are not `USUAL_MODE`."""


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
        if entry.filemode == FileMode.TREE:
            if declares_lfs_in(repository, str(entry.id)):
                return True
        elif entry.name == ".gitattributes" and entry.filemode != FileMode.COMMIT:
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
            (_name(entry), int(entry.filemode), str(entry.id)) for entry in found if entry.filemode != FileMode.COMMIT
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


def resolve_links(files: Mapping[str, str], links: Mapping[str, str], modes: Mapping[str, int]) -> Listing:
    """`files` and, under their own paths, what `links` (path -> target) lead to inside the tree, with their modes.

    A link to a file stands for the file, a link to a folder for the files below it. Whatever leads out of the tree,
    in a circle or to nothing is refused.
    """
    files, refused = _named(files)
    if not links:
        return Listing(files, refused, modes)
    folders = {parent for path in (*files, *links) for parent in _parents(path)}
    resolved = dict(files)
    modes = dict(modes)
    folder_links: list[tuple[str, str]] = []
    for path in sorted(links):
        target, problem = _follow(path, links)
        if problem:
            refused[path] = problem
        elif target in files:
            resolved[path] = files[target]
            if target in modes:
                modes[path] = modes[target]
        elif target in folders or not target:
            folder_links.append((path, target + "/" if target else ""))
        else:
            refused[path] = "it is a symlink to nothing"
    _expand(resolved, modes, folder_links, refused)
    return Listing(resolved, refused, modes)


def _expand(
    files: dict[str, str], modes: dict[str, int], folder_links: Sequence[tuple[str, str]], refused: dict[str, str]
) -> None:
    """Add what is seen through links to folders, through other such links too, each link at most once on the way."""
    leading_to: dict[str, list[str]] = {}
    for path, folder in folder_links:
        if (path + "/").startswith(folder):
            refused[path] = "it is a symlink to a folder that it lies in"
        else:
            leading_to.setdefault(folder, []).append(path)
    waiting: list[tuple[str, frozenset[str]]] = [(path, frozenset()) for path in files]
    added = 0
    while waiting and added < MOST_LINKED:
        path, through = waiting.pop()
        for folder in _folders(path):
            for link in leading_to.get(folder, ()):
                seen = f"{link}/{path[len(folder) :]}"
                if link not in through and seen not in files:
                    files[seen] = files[path]
                    if path in modes:
                        modes[seen] = modes[path]
                    waiting.append((seen, through | {link}))
                    added += 1
    if added >= MOST_LINKED:
        refused.update({link: f"more than {MOST_LINKED} files are seen through symlinks" for link, _ in folder_links})


def _folders(path: str) -> list[str]:
    """The top, and each folder that a path lies in with a slash at its end."""
    return ["", *(parent + "/" for parent in _parents(path))]


def _named(files: Mapping[str, str]) -> tuple[Mapping[str, str], dict[str, str]]:
    """`files` without those whose names no message could carry, and why those are left out."""
    refused = {path: "its name is not UTF-8" for path in files if not path.isascii() and path != _printable(path)}
    if refused:
        files = {path: oid for path, oid in files.items() if path not in refused}
    return files, {_printable(path): why for path, why in refused.items()}


def _printable(path: str) -> str:
    return path.encode(errors="surrogateescape").decode(errors="replace")


def _follow(path: str, links: Mapping[str, str]) -> tuple[str, str]:
    """(where a link ends, empty) or (empty, why it cannot be followed)."""
    done: list[str] = []
    rest = path.split("/")
    followed = 0
    while rest:
        part = rest.pop(0)
        if part in ("", "."):
            continue
        if part == "..":
            if not done:
                return "", "it is a symlink that leads out of the tree"
            done.pop()
            continue
        here = "/".join((*done, part))
        if here not in links:
            done.append(part)
            continue
        followed += 1
        if followed > _LINKS_FOLLOWED:
            return "", "it is a symlink that leads in a circle"
        if posixpath.isabs(links[here]):
            return "", "it is a symlink that leads out of the tree"
        rest = links[here].split("/") + rest
    return "/".join(done), ""


def _parents(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]


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
        raise DamagedMirror(f"{what} cannot be read from {mirror} ({error}); the next fetch repairs it") from error


def report_damage(mirror: str) -> None:
    """Have the next fetch of a mirror look at every object, and make the mirror anew if need be."""
    Path(mirror).with_name(DAMAGED).touch()


def _forget() -> None:
    _repository.cache_clear()


os.register_at_fork(after_in_child=_forget)
