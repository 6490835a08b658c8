"""`Files` held in memory: for tests, for pillar overrides, and trees that come from no repository."""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from highstate.types import Files

PILLAR = "pillar"
"""The name of a pillar that is one tree."""


def parts_of(pillar: Files, *, folders_last: bool = False) -> Mapping[str, Files]:
    """The trees of a pillar that are compiled each by itself, by name, in the order in which they are merged.

    All of it is one tree where it names no parts. A tree has the same name in either order.
    """
    parts: Callable[..., Sequence[Files]] | None = getattr(pillar, "parts", None)
    if parts is None or len(found := parts(folders_last=False)) == 1:
        return {PILLAR: pillar if parts is None else found[0]}
    names = {id(part): f"{PILLAR}/{number}" for number, part in enumerate(found)}
    return {names[id(part)]: part for part in parts(folders_last=folders_last)}


@dataclass(frozen=True)
class MemoryFiles:
    """A tree given as {saltenv: {path: bytes}}; ids are git's own blob ids."""

    trees: Mapping[str, Mapping[str, bytes]]
    symlinks: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Saltenv -> path -> target. What is seen through them stands in `trees` too."""

    @cached_property
    def digest(self) -> str:
        """Names the whole tree."""
        whole = hashlib.sha256()
        for saltenv in self.saltenvs():
            for path in self.list("", saltenv):
                whole.update(f"{saltenv}\0{path}\0{self.oid(path, saltenv)}\n".encode())
        whole.update(repr(self.symlinks).encode() if self.symlinks else b"")
        return whole.hexdigest()

    def saltenvs(self) -> Sequence[str]:
        """Names of the environments, in the order in which they were given."""
        return list(self.trees)

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file; FileNotFoundError when there is none."""
        try:
            return self.trees[saltenv][path]
        except KeyError:
            raise FileNotFoundError(f"salt://{path} (saltenv {saltenv})") from None

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Git's id of the content, None when there is no such file."""
        known = self._oids.get((saltenv, path))
        if known is None:
            data = self.trees.get(saltenv, {}).get(path)
            if data is None:
                return None
            known = self._oids[saltenv, path] = blob_id(data)
        return known

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is none."""
        return None if self.oid(path, saltenv) is None else 0o644

    def edited(self, path: str, content: bytes, saltenv: str = "base") -> MemoryFiles:
        """The tree with another content of one file; the ids of the others are as well known as they were."""
        made = MemoryFiles({**self.trees, saltenv: {**self.trees[saltenv], path: content}}, self.symlinks)
        made._oids.update(self._oids)
        made._oids.pop((saltenv, path), None)
        return made

    @cached_property
    def _sorted(self) -> dict[str, list[str]]:
        return {}

    @cached_property
    def _oids(self) -> dict[tuple[str, str], str]:
        return {}

    def __getstate__(self) -> dict[str, object]:
        return {"trees": self.trees, "symlinks": self.symlinks}

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths at or below a folder, sorted."""
        if saltenv not in self._sorted:
            self._sorted[saltenv] = sorted(self.trees.get(saltenv, {}))
        paths, folder = self._sorted[saltenv], prefix.strip("/")
        if not folder:
            return list(paths)
        first, end = bisect_left(paths, folder + "/"), bisect_left(paths, folder + "0")  # what follows "/"
        return ([folder] if folder in self.trees.get(saltenv, {}) else []) + paths[first:end]

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks at or below a folder, sorted."""
        folder = prefix.strip("/")
        found = sorted(self.symlinks.get(saltenv, {}).items())
        return {path: to for path, to in found if not folder or path == folder or path.startswith(folder + "/")}


@dataclass(frozen=True)
class FilesBeside:
    """A tree, and in one saltenv further files that only who knows their paths finds: no folder lists them."""

    tree: Files
    beside: Mapping[str, bytes]
    """Path -> content; before a file of the tree at the same path."""
    saltenv: str = "base"

    @cached_property
    def digest(self) -> str:
        """Names the whole."""
        own = "".join(f"{path}\0{blob_id(data)}\n" for path, data in sorted(self.beside.items()))
        return hashlib.sha256(f"{self.tree.digest}\n{self.saltenv}\n{own}".encode()).hexdigest()

    def saltenvs(self) -> Sequence[str]:
        """Those of the tree, and its own."""
        there = list(self.tree.saltenvs())
        return there if self.saltenv in there else [*there, self.saltenv]

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file; FileNotFoundError when there is none."""
        own = self._own(path, saltenv)
        return self.tree.read(path, saltenv) if own is None else own

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Git's id of the content, None when there is no such file."""
        own = self._own(path, saltenv)
        return self.tree.oid(path, saltenv) if own is None else blob_id(own)

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is none."""
        return self.tree.mode(path, saltenv) if self._own(path, saltenv) is None else 0o644

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths of the tree at or below a folder."""
        return self.tree.list(prefix, saltenv)

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Symlinks of the tree at or below a folder."""
        return self.tree.links(prefix, saltenv)

    def _own(self, path: str, saltenv: str) -> bytes | None:
        return self.beside.get(path) if saltenv == self.saltenv else None


def blob_id(data: bytes) -> str:
    """Git's SHA-1 id of a blob with this content (gitformat-object): the content address used everywhere."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data, usedforsecurity=False).hexdigest()


def is_binary_template(data: bytes) -> bool:
    """Whether a file that is given as a template is none: no UTF-8, and without anything that Jinja would render.

    Salt takes such a file as it is (salt.utils.templates).
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return not any(mark in data for mark in (b"{{", b"{%", b"{#"))
    return False


def through_link(path: str, links: Collection[str]) -> bool:
    """Whether a file of a tree is seen at or behind one of the symlinks."""
    return path in links or any(path[:at] in links for at, letter in enumerate(path) if letter == "/")
