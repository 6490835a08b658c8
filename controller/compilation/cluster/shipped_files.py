"""A tree on a machine that has no mirror: names and content ids, and contents by content address when they are read.

The controller makes it of the trees of a request (`shipped`), and it travels in place of them. The compile process asks
for what it lacks, as it asks for codes of templates; whoever answers, each content is asked for once and kept, within a
bound. Must not import gitfs: there is nothing of git on that machine.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Protocol

import msgspec
from cachetools import LRUCache

from highstate.files import parts_of
from highstate.types import Files

_KEPT_BYTES = 64 * 1024 * 1024
"""Of contents, in each compile process."""
_KEPT_LISTINGS = 64
FOUND = b"\1"
"""Before a content, in answers to a compile process; an error has `LACKING` before its text."""
LACKING = b"\0"
_ENCODER = msgspec.msgpack.Encoder()


class ShippedListing(msgspec.Struct, frozen=True, array_like=True):
    """The files of one saltenv."""

    paths: list[str]
    oids: list[str]
    modes: dict[str, int]
    """Those other than `USUAL_MODE`."""
    links: dict[str, str]
    refused: dict[str, str]
    """Path -> why it is no file, for what `FileNotFoundError` says."""


class ContentQuestion(msgspec.Struct, frozen=True, kw_only=True, tag="content"):
    """What a compile process asks for: a content, and where the controller finds it in the trees of the request."""

    key: str
    """Content id of a file, or the name of a listing."""
    tree: str = ""
    """`files` or `pillar`; empty: a listing."""
    part: int = 0
    """Of the trees that are compiled by themselves (`parts_of`)."""
    saltenv: str = ""
    path: str = ""


class ContentAsker(Protocol):
    """Answers a compile process."""

    def content(self, question: ContentQuestion) -> bytes:
        """What is asked for; OSError when it cannot be had."""


_USUAL_MODE = 0o644
_sources: list[ContentAsker] = []
_contents: LRUCache[str, bytes] = LRUCache(_KEPT_BYTES, getsizeof=len)


def take_contents_from(source: ContentAsker) -> None:
    """From here on, this process asks `source` for what the trees of its requests hold."""
    _sources[:] = [source]


@dataclass(frozen=True, slots=True)
class _Opened:
    """A listing that can be asked."""

    paths: Sequence[str]
    oids: Mapping[str, str]
    listing: ShippedListing


@dataclass(frozen=True, kw_only=True)
class ShippedFiles:
    """`highstate.Files`, made of listings and contents that are asked for."""

    tree: str
    digest: str
    listings: Mapping[str, str]
    """Saltenv -> name of its listing."""
    part: int = 0
    shipped_parts: tuple[ShippedFiles, ...] = ()
    """The trees that are compiled by themselves, where there are several."""
    folders_last: tuple[int, ...] = ()
    """Their order where local folders come last."""

    def parts(self, *, folders_last: bool = False) -> Sequence[Files]:
        """See `parts_of`."""
        if not self.shipped_parts:
            return (self,)
        order = self.folders_last if folders_last else range(len(self.shipped_parts))
        return [self.shipped_parts[number] for number in order]

    def saltenvs(self) -> Sequence[str]:
        """Names of the environments, in the order of the tree."""
        return list(self.listings)

    def read(self, path: str, saltenv: str = "base") -> bytes:
        """Content of a file; FileNotFoundError when there is none, ValueError for a path that cannot be one."""
        _check(path)
        opened = self._opened(saltenv)
        oid = None if opened is None else opened.oids.get(path)
        if oid is None:
            why = "" if opened is None else opened.listing.refused.get(path, "")
            raise FileNotFoundError(f"salt://{path} (saltenv {saltenv})" + (f": {why}" if why else ""))
        return _content(ContentQuestion(key=oid, tree=self.tree, part=self.part, saltenv=saltenv, path=path))

    def oid(self, path: str, saltenv: str = "base") -> str | None:
        """Content id of a file, None when there is none."""
        opened = self._opened(saltenv)
        return None if opened is None else opened.oids.get(path)

    def mode(self, path: str, saltenv: str = "base") -> int | None:
        """Permission bits of a file, None when there is none."""
        opened = self._opened(saltenv)
        if opened is None or path not in opened.oids:
            return None
        return opened.listing.modes.get(path, _USUAL_MODE)

    def list(self, prefix: str = "", saltenv: str = "base") -> Sequence[str]:
        """Paths at or below a folder, sorted."""
        opened = self._opened(saltenv)
        if opened is None:
            return ()
        folder = prefix.strip("/")
        if not folder:
            return opened.paths
        exact = [folder] if folder in opened.oids else []
        start, end = bisect_left(opened.paths, folder + "/"), bisect_left(opened.paths, folder + "0")
        return [*exact, *opened.paths[start:end]]

    def links(self, prefix: str = "", saltenv: str = "base") -> Mapping[str, str]:
        """Path -> target of the symlinks at or below a folder, sorted."""
        opened = self._opened(saltenv)
        found = {} if opened is None else opened.listing.links
        folder = prefix.strip("/")
        if not folder:
            return found
        return {path: to for path, to in found.items() if path == folder or path.startswith(folder + "/")}

    def _opened(self, saltenv: str) -> _Opened | None:
        key = self.listings.get(saltenv)
        return None if key is None else _open(key)


def _check(path: str) -> None:
    """As a snapshot does (`gitfs.tree.snapshot`)."""
    if "\0" in path:
        raise ValueError(f"a path cannot hold a NUL: {path!r}")
    if path.startswith("/") or ".." in path.split("/"):
        raise FileNotFoundError(f"salt://{path}: a path begins at the top of the tree and stays in it")


@lru_cache(maxsize=_KEPT_LISTINGS)
def _open(key: str) -> _Opened:
    listing = msgspec.msgpack.decode(_content(ContentQuestion(key=key)), type=ShippedListing)
    return _Opened(tuple(listing.paths), dict(zip(listing.paths, listing.oids, strict=True)), listing)


def _content(question: ContentQuestion) -> bytes:
    found = _contents.get(question.key)
    if found is None:
        if not _sources:
            raise OSError("nobody is there to ask for the contents of the tree")
        found = _sources[0].content(question)
        if len(found) <= _KEPT_BYTES:
            _contents[question.key] = found
    return found


@dataclass(frozen=True, slots=True)
class Shipped:
    """A tree, and what has to be known of it elsewhere."""

    files: ShippedFiles
    listings: Mapping[str, bytes] = field(repr=False)
    """By name."""


def shipped(tree: str, files: Files) -> Shipped:
    """The tree to send in place of `files`, with the listings that it names. Called in a thread: it lists."""
    parts = list(parts_of(files).values())
    if len(parts) < 2:
        own, listings = _listed(files)
        return Shipped(ShippedFiles(tree=tree, digest=files.digest, listings=own), listings)
    listings, inner = {}, []
    for number, part in enumerate(parts):
        own, more = _listed(part)
        listings.update(more)
        inner.append(ShippedFiles(tree=tree, digest=part.digest, listings=own, part=number))
    own, more = _listed(files)
    listings.update(more)
    names = list(parts_of(files))
    order = [names.index(name) for name in parts_of(files, folders_last=True)]
    whole = ShippedFiles(
        tree=tree,
        digest=files.digest,
        listings=own,
        part=-1,
        shipped_parts=tuple(inner),
        folders_last=tuple(order),
    )
    return Shipped(whole, listings)


def _listed(files: Files) -> tuple[dict[str, str], dict[str, bytes]]:
    """(saltenv -> name of its listing, the listings by name)."""
    own, listings = {}, {}
    for saltenv in files.saltenvs():
        packed = _ENCODER.encode(_listing(files, saltenv))
        own[saltenv] = key = "listing:" + hashlib.sha256(packed).hexdigest()
        listings[key] = packed
    return own, listings


def _listing(files: Files, saltenv: str) -> ShippedListing:
    paths = list(files.list("", saltenv))
    left_out = getattr(files, "left_out", None)
    modes = {path: mode for path in paths if (mode := files.mode(path, saltenv)) not in (None, _USUAL_MODE)}
    return ShippedListing(
        paths=paths,
        oids=[files.oid(path, saltenv) or "" for path in paths],
        modes={path: mode for path, mode in modes.items() if mode is not None},
        links=dict(files.links("", saltenv)),
        refused={} if left_out is None else dict(left_out(saltenv)),
    )


def content_of(files: Files, pillar: Files, question: ContentQuestion) -> bytes:
    """What a question about the trees of a request asks for; OSError or ValueError when it asks for anything else."""
    tree = {"files": files, "pillar": pillar}.get(question.tree)
    if tree is None:
        raise ValueError("a question about no tree")
    if question.part >= 0 and len(parts := list(parts_of(tree).values())) > 1:
        tree = parts[question.part]
    if tree.oid(question.path, question.saltenv) != question.key:
        raise ValueError("a question about a file that is not in the tree")
    return tree.read(question.path, question.saltenv)
