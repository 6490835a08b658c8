"""Reads mirrors' objects, with what is worth keeping kept for the life of the process.

Called by `gitfs.snapshot`. Everything kept is keyed by the id of an immutable object, so nothing here is ever stale.
A process that forks starts its child with empty caches: an open repository is not shared between processes.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeVar

import pygit2
from pygit2.enums import FileMode

from gitfs.errors import DamagedMirror
from gitfs.generations import report_damage

_T = TypeVar("_T")
_LINKS_FOLLOWED = 40
"""Symlinks on the way to one file; the kernel's own limit."""

_UNREADABLE = (pygit2.GitError, KeyError, ValueError, OSError)


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a tree, symlinks resolved."""

    files: Mapping[str, str]
    """Path -> blob id."""
    refused: Mapping[str, str]
    """Path of each symlink that cannot be followed -> why."""


@lru_cache(maxsize=64)
def listing(mirror: str, tree: str) -> Listing:
    """The files of the tree with this id (empty: no tree) in a mirror."""
    files: dict[str, str] = {}
    links: dict[str, str] = {}
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
    return resolve_links(files, links)


@lru_cache(maxsize=16384)
def _entries(mirror: str, tree: str) -> tuple[tuple[str, int, str], ...]:
    """(name, mode, id) of what is directly in a tree, submodules left out."""

    def read(repository: pygit2.Repository) -> tuple[tuple[str, int, str], ...]:
        found = repository[tree].peel(pygit2.Tree)
        return tuple(
            (_name(entry), int(entry.filemode), str(entry.id)) for entry in found if entry.filemode != FileMode.COMMIT
        )

    return _reading(mirror, read, f"tree {tree}")


def _name(entry: pygit2.Object) -> str:
    return entry.raw_name.decode(errors="surrogateescape") if entry.raw_name else ""


def blob(mirror: str, oid: str) -> bytes:
    """Content of a blob."""
    return _reading(mirror, lambda repository: repository.odb.read(oid)[1], f"blob {oid}")


def blob_size(mirror: str, oid: str) -> int:
    """Bytes of a blob, from its header alone."""
    return _reading(mirror, lambda repository: repository.odb.read_header(oid)[1], f"blob {oid}")


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

    return _reading(mirror, read, f"commit {commit}")


def commit_object(mirror: str, commit: str) -> pygit2.Commit:
    """The commit, for its message and author."""
    return _reading(mirror, lambda repository: repository[commit].peel(pygit2.Commit), f"commit {commit}")


def resolve_links(files: Mapping[str, str], links: Mapping[str, str]) -> Listing:
    """`files` and, under their own paths, what `links` (path -> target) lead to inside the tree.

    A link to a file stands for the file, a link to a folder for the files below it. Whatever leads out of the tree,
    in a circle or to nothing is refused.
    """
    files, refused = _named(files)
    if not links:
        return Listing(files, refused)
    folders = {parent for path in (*files, *links) for parent in _parents(path)}
    resolved = dict(files)
    folder_links: list[tuple[str, str]] = []
    for path in sorted(links):
        target, problem = _follow(path, links)
        if problem:
            refused[path] = problem
        elif target in files:
            resolved[path] = files[target]
        elif target in folders or not target:
            folder_links.append((path, target + "/" if target else ""))
        else:
            refused[path] = "it is a symlink to nothing"
    real = dict(resolved)
    for path, folder in folder_links:
        if (path + "/").startswith(folder):
            refused[path] = "it is a symlink to a folder that it lies in"
            continue
        for below, oid in real.items():
            if below.startswith(folder):
                resolved.setdefault(f"{path}/{below[len(folder) :]}", oid)
    return Listing(resolved, refused)


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


def _reading(mirror: str, read: Callable[[pygit2.Repository], _T], what: str) -> _T:
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


def _forget() -> None:
    _repository.cache_clear()


os.register_at_fork(after_in_child=_forget)
