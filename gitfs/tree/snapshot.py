"""Immutable trees: what a compile reads, and what people see of where it came from.

A `Snapshot` satisfies `highstate.Files`. It holds ids, never content, and can be pickled to any process of this
machine; what it reads comes straight from the mirrors' objects. Called by `gitfs.source`, by compiles, and by minions
for local folders: it must not import pygit2.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from gitfs.config.settings import IgnoredFiles
from gitfs.tree.directory import scan
from gitfs.tree.listing import USUAL_MODE, Layer

FOLDERS = -1
"""The owner of local folders."""


@dataclass(frozen=True, slots=True)
class _Overlay:
    """The layers of one saltenv laid over each other."""

    modes: tuple[Mapping[str, int], ...]
    """Of each layer, by the path in it."""
    paths: tuple[str, ...]
    found: Mapping[str, tuple[int, str, str]]
    """Path -> (number of the layer, path in the layer, blob id)."""
    by_oid: Mapping[str, tuple[int, str]]
    refused: Mapping[str, str]
    links: Mapping[str, str]
    """Path -> target of the symlinks that no earlier layer has a file in place of."""


@dataclass(frozen=True, slots=True)
class BlobStart:
    """The beginning of a file's content."""

    size: int
    """Bytes of all of it."""
    data: bytes


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Ordered layers for each saltenv; the first layer that has a path wins."""

    environments: Mapping[str, tuple[Layer, ...]]
    ignored: IgnoredFiles = field(default_factory=IgnoredFiles)
    owners: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Saltenv -> whose each layer is, by number: trees that are compiled each by itself. Empty: one tree."""
    includes: bool = True
    """Whether such a tree has the files of the other remotes below its own."""

    def __getstate__(self) -> dict[str, Any]:
        kept = {"environments": self.environments, "ignored": self.ignored}
        return {**kept, "owners": self.owners, "includes": self.includes}

    def parts(self, *, folders_last: bool = False) -> Sequence[Snapshot]:
        """The trees that are compiled by themselves: local folders, then the remotes in their order."""
        if folders_last and len(self._parts) > 1 and FOLDERS in self._parts:
            return [part for number, part in self._parts.items() if number != FOLDERS] + [self._parts[FOLDERS]]
        return list(self._parts.values())

    @cached_property
    def _parts(self) -> dict[int, Snapshot]:
        """By the numbers of their owners."""
        numbers = sorted({number for each in self.owners.values() for number in each})
        return {number: self._part(number) for number in numbers} if len(numbers) > 1 else {FOLDERS: self}

    def _part(self, owner: int) -> Snapshot:
        """The layers of one owner, over those of the other remotes where these are seen."""
        environments = {}
        for saltenv, layers in self.environments.items():
            owned = list(zip(layers, self.owners[saltenv], strict=True))
            own = [layer for layer, number in owned if number == owner]
            if own:
                seen = self.includes and owner != FOLDERS
                others = [layer for layer, number in owned if seen and number not in (owner, FOLDERS)]
                environments[saltenv] = (*own, *others)
        return Snapshot(environments=environments, ignored=self.ignored)

    @cached_property
    def digest(self) -> str:
        """Names the content: equal digests mean equal files in every saltenv."""
        whole = hashlib.sha256(repr(self.ignored).encode() if self.ignored != IgnoredFiles() else b"")
        whole.update("".join(self._lines.values()).encode())
        if self.owners:
            whole.update(repr((self.owners, self.includes)).encode())
        return whole.hexdigest()

    @cached_property
    def _lines(self) -> dict[str, str]:
        """Saltenv -> its part of what the digest is made of."""
        return {saltenv: self._line(saltenv) for saltenv in self.environments}

    def _line(self, saltenv: str) -> str:
        return f"{saltenv}\0{self._keys(saltenv)}\n"

    def with_layers(
        self, layers: Mapping[str, tuple[Layer, ...]], owners: Mapping[str, tuple[int, ...]] | None = None
    ) -> Snapshot:
        """This snapshot with other layers in some of its environments; costs what these cost."""
        new = replace(self, environments={**self.environments, **layers}, owners={**self.owners, **(owners or {})})
        new.__dict__["_lines"] = {**self._lines, **{saltenv: new._line(saltenv) for saltenv in layers}}
        return new

    def saltenvs(self) -> Sequence[str]:
        """Names of the environments, in the order in which they were given: top files are merged in it."""
        return list(self.environments)

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file. FileNotFoundError when there is none, ValueError for a path that cannot be one.

        DamagedMirror or StaleSnapshot (both are OSError) when it was there and cannot be read any more.
        """
        _check(path)
        overlay = self._overlay(saltenv)
        found = overlay.found.get(path)
        if found is None:
            why = overlay.refused.get(path)
            raise FileNotFoundError(f"salt://{path} (saltenv {saltenv})" + (f": {why}" if why else ""))
        number, inner, oid = found
        return self._content(saltenv, number, inner, oid)

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Git's blob id of a file, None when there is none."""
        found = self._overlay(saltenv).found.get(path)
        return None if found is None else found[2]

    def layer_of(self, path: str, saltenv: str = "base") -> tuple[Layer, str] | None:
        """The layer that a file comes from, and its path in it; None when there is no such file."""
        found = self._overlay(saltenv).found.get(path)
        return None if found is None else (self.environments[saltenv][found[0]], found[1])

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is none; git knows of 0o644 and 0o755 alone."""
        overlay = self._overlay(saltenv)
        found = overlay.found.get(path)
        return None if found is None else overlay.modes[found[0]].get(found[1], USUAL_MODE)

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths of all files at or below a folder, sorted; empty when there is none."""
        paths = self._overlay(saltenv).paths
        folder = prefix.strip("/")
        if not folder:
            return paths
        exact = [folder] if folder in self._overlay(saltenv).found else []
        start = bisect_left(paths, folder + "/")
        end = bisect_left(paths, folder + "0")  # "0" follows "/"
        return [*exact, *paths[start:end]]

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of all symlinks at or below a folder, sorted; where one leads, `list` shows files as well."""
        folder = prefix.strip("/")
        links = self._overlay(saltenv).links
        if not folder:
            return links
        return {path: to for path, to in links.items() if path == folder or path.startswith(folder + "/")}

    def left_out(self, saltenv: str = "base") -> Mapping[str, str]:
        """Path -> why it is no file here, for what is in the trees and is not shown.

        What `file_ignore_…` matches is not listed.
        """
        return self._overlay(saltenv).refused

    def read_range(self, oid: str, offset: int, length: int) -> bytes | None:
        """Part of a blob of this snapshot, shorter at its end; None for every other id. A large blob is not held."""
        place = self._place(oid)
        if place is None:
            return None
        layer, inner = place
        if offset < 0 or length < 0:
            raise ValueError("a range begins at 0 or later and is no shorter than nothing")
        return layer.read_range(inner, oid, offset, length)

    def blob_size(self, oid: str) -> int | None:
        """Bytes of a blob of this snapshot; None for every other id."""
        place = self._place(oid)
        if place is None:
            return None
        layer, inner = place
        return layer.size(inner, oid)

    def blob_start(self, oid: str, length: int) -> BlobStart | None:
        """The first bytes of a blob of this snapshot; None for every other id, and when it cannot be read any more."""
        with suppress(OSError):
            size, data = self.blob_size(oid), self.read_range(oid, 0, length)
            if size is not None and data is not None:
                return BlobStart(size, data)
        return None

    def _place(self, oid: str) -> tuple[Layer, str] | None:
        """(layer, path in it) of a blob."""
        for saltenv in self._environments_base_first:
            if found := self._overlay(saltenv).by_oid.get(oid):
                return self.environments[saltenv][found[0]], found[1]
        return None

    def _content(self, saltenv: str, number: int, inner: str, oid: str) -> bytes:
        return self.environments[saltenv][number].read(inner, oid)

    def _overlay(self, saltenv: str) -> _Overlay:
        layers = self.environments.get(saltenv, ())
        return _overlay(self._keys(saltenv), self.ignored, _Layers(layers))

    def _keys(self, saltenv: str) -> str:
        return "\n".join(layer.key for layer in self.environments.get(saltenv, ()))

    @cached_property
    def _environments_base_first(self) -> Sequence[str]:
        return sorted(self.environments, key=lambda saltenv: (saltenv != "base", saltenv))


def directory_snapshot(roots: Mapping[str, Sequence[str | Path]]) -> Snapshot:
    """The snapshot of `file_roots` as they are now."""
    return Snapshot(environments={env: tuple(scan(path) for path in paths) for env, paths in roots.items()})


class _Layers:
    """Layers as an argument that a cache ignores: the keys beside it say all that counts."""

    __slots__ = ("layers",)

    def __init__(self, layers: tuple[Layer, ...]) -> None:
        self.layers = layers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Layers)

    def __hash__(self) -> int:
        return 0


@lru_cache(maxsize=64)
def _overlay(keys: str, ignored: IgnoredFiles, layers: _Layers) -> _Overlay:
    found: dict[str, tuple[int, str, str]] = {}
    refused: dict[str, str] = {}
    links: dict[str, str] = {}
    modes = []
    for number, layer in enumerate(layers.layers):
        files = layer.listing
        prefix = f"{layer.mountpoint}/" if layer.mountpoint else ""
        for path, oid in files.files.items():
            found.setdefault(prefix + path, (number, path, oid))
        for path, target in files.links.items():
            if found.get(prefix + path, (number,))[0] == number:
                links.setdefault(prefix + path, target)
        modes.append(files.modes)
        for path, why in files.refused.items():
            refused.setdefault(prefix + path, why)
    if ignored != IgnoredFiles():
        is_ignored = ignored.prepared()
        found = {path: place for path, place in found.items() if not is_ignored(path)}
        links = {path: target for path, target in links.items() if not is_ignored(path)}
    by_oid = {oid: (number, path) for number, path, oid in found.values()}
    return _Overlay(tuple(modes), tuple(sorted(found)), found, by_oid, refused, dict(sorted(links.items())))


def _check(path: str) -> None:
    if "\0" in path:
        raise ValueError(f"a path cannot hold a NUL: {path!r}")
    if path.startswith("/") or ".." in path.split("/"):
        raise FileNotFoundError(f"salt://{path}: a path begins at the top of the tree and stays in it")
