"""The files of a tree with its symlinks resolved, and what a snapshot asks of the layers that it is made of.

Used by `gitfs.tree.objects` (trees in git) and `gitfs.tree.directory` (folders). Must not import pygit2: a minion reads
local folders without it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

_LINKS_FOLLOWED = 40
"""Symlinks on the way to one file; the kernel's own limit."""
USUAL_MODE = 0o644
MOST_LINKED = 200_000
"""Files of a tree that are seen through symlinks to folders."""


@dataclass(frozen=True, slots=True)
class Listing:
    """All files of a tree, symlinks resolved."""

    files: Mapping[str, str]
    """Path -> blob id."""
    refused: Mapping[str, str]
    """Path of each symlink that cannot be followed -> why."""
    modes: Mapping[str, int] = field(default_factory=dict)
    """Path -> permission bits, for the files that are not `USUAL_MODE`."""
    links: Mapping[str, str] = field(default_factory=dict)
    """Path of each symlink -> its target, wherever that leads; absolute ones that stay in a folder made relative."""


class Layer(Protocol):
    """A folder or a tree of git, as part of a snapshot."""

    @property
    def key(self) -> str:
        """Equal keys mean equal files."""

    @property
    def mountpoint(self) -> str:
        """The folder of the snapshot below which its files appear; empty: its top."""

    @property
    def listing(self) -> Listing:
        """Its files."""

    def read(self, path: str, oid: str) -> bytes:
        """Content of a file. DamagedMirror or StaleSnapshot when it cannot be read any more."""

    def read_range(self, path: str, oid: str, offset: int, length: int) -> bytes:
        """Part of a file, shorter at its end. DamagedMirror or StaleSnapshot as for `read`."""

    def size(self, path: str, oid: str) -> int:
        """Bytes of a file. DamagedMirror or StaleSnapshot as for `read`."""


def resolve_links(files: Mapping[str, str], links: Mapping[str, str], modes: Mapping[str, int]) -> Listing:
    """`files` and, under their own paths, what `links` (path -> target) lead to inside the tree, with their modes.

    A link to a file stands for the file, a link to a folder for the files below it. Whatever leads out of the tree,
    in a circle or to nothing is refused.
    """
    files, refused = _named(files)
    if not links:
        return Listing(files, refused, modes)
    named = {path: target for path, target in links.items() if _is_text(path) and _is_text(target)}
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
    return Listing(resolved, refused, modes, named)


def _is_text(path: str) -> bool:
    """Whether a message can carry it."""
    return path.isascii() or path == _printable(path)


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
    refused = {path: "its name is not UTF-8" for path in files if not _is_text(path)}
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
