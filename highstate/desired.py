"""The document that a minion holds: what it shall be, as plain values that can be patched and digested.

The controller makes it from a `Compiled`; the minion keeps it on disk and runs from it alone,
so that it goes on watching for drift when the controller is away.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from highstate.types import Chunk, Compiled, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class Desired:
    """A minion's desired state. It names no revision: a push that changes nothing for a minion leaves it equal."""

    chunks: Mapping[str, Chunk]
    """Key -> chunk in running order. The key is the chunk's tag; a tag that comes again gets `#2`, `#3`, ..."""
    pillar: Mapping[str, Value] = field(default_factory=dict)
    files: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """saltenv -> path -> oid of every file that the chunks are known to use; `ABSENT` of one that is not there."""
    modes: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """saltenv -> path -> permission bits of the files whose mode a chunk keeps."""
    links: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """saltenv -> path -> target of the symlinks that a chunk keeps."""
    contents: Mapping[str, str] = field(default_factory=dict)
    """Key -> content digest (`Content.digest`) of the chunks that have one."""
    modules: Mapping[str, str] = field(default_factory=dict)
    """Path -> oid of the tree's modules for minions (`_modules/x.py`, `_grains/y.py`)."""
    drift: Mapping[str, Value] = field(default_factory=dict)
    """The drift schedule, as policy gives it: `{"interval": seconds, "splay": seconds}`; empty: none.

    `watch: True`: what others change of the files and services of the chunks is checked at once. `ignore`: the rules of
    `highstate.run.ignoring`. `prune`: `{"mode": ..., "limit": ...}`, what becomes of what no state names any more;
    without it: it is told."""

    def as_document(self) -> dict[str, Value]:
        """Plain values; the order of every mapping is part of it (a template may loop over pillar)."""
        return {
            "chunks": {key: chunk.as_salt() for key, chunk in self.chunks.items()},
            "pillar": dict(self.pillar),
            "files": {env: dict(paths) for env, paths in self.files.items()},
            **({"modes": {env: dict(paths) for env, paths in self.modes.items()}} if self.modes else {}),
            **({"links": {env: dict(paths) for env, paths in self.links.items()}} if self.links else {}),
            "contents": dict(self.contents),
            **({"modules": dict(self.modules)} if self.modules else {}),
            "drift": dict(self.drift),
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Value], chunks: Mapping[str, Chunk] | None = None) -> Desired:
        """The inverse of `as_document`; `chunks`: those of the document, where they were made before."""
        return cls(
            chunks={key: Chunk.from_salt(low) for key, low in document["chunks"].items()} if chunks is None else chunks,
            pillar=document["pillar"],
            files=document["files"],
            modes=document.get("modes", {}),
            links=document.get("links", {}),
            contents=document["contents"],
            modules=document.get("modules", {}),
            drift=document["drift"],
        )


def desired_of(
    compiled: Compiled, *, drift: Mapping[str, Value] | None = None, modules: Mapping[str, str] | None = None
) -> Desired:
    """What `compiled` (which must be ok) asks its minion to hold."""
    chunks = chunk_keys(compiled.lowstate)
    files, contents = used_files(chunks, compiled)
    modes = kept_modes(chunks, compiled)
    return Desired(
        chunks=chunks,
        pillar=compiled.pillar,
        files=files,
        modes=modes,
        links=kept_links(chunks, compiled),
        contents=contents,
        modules=modules or {},
        drift=drift or {},
    )


def kept_modes(chunks: Mapping[str, Chunk], compiled: Compiled) -> dict[str, dict[str, int]]:
    """`Desired.modes`."""
    modes: dict[str, dict[str, int]] = {}
    for chunk in chunks.values() if compiled.contents else ():
        content = compiled.contents.get(chunk.tag)
        for (saltenv, path), mode in content.modes.items() if content else ():
            modes.setdefault(saltenv, {})[path] = mode
    return {env: dict(sorted(modes[env].items())) for env in sorted(modes)}


def kept_links(chunks: Mapping[str, Chunk], compiled: Compiled) -> dict[str, dict[str, str]]:
    """`Desired.links`."""
    links: dict[str, dict[str, str]] = {}
    for chunk in chunks.values() if compiled.contents else ():
        content = compiled.contents.get(chunk.tag)
        for (saltenv, path), target in content.links.items() if content else ():
            links.setdefault(saltenv, {})[path] = target
    return {env: dict(sorted(links[env].items())) for env in sorted(links)}


def used_files(chunks: Mapping[str, Chunk], compiled: Compiled) -> tuple[dict[str, dict[str, str]], dict[str, str]]:
    """`Desired.files` and `Desired.contents`."""
    files: dict[str, dict[str, str]] = {}
    contents: dict[str, str] = {}
    if compiled.contents:
        for key, chunk in chunks.items():
            content = compiled.contents.get(chunk.tag)
            if content is None:
                continue
            contents[key] = content.digest
            for (saltenv, path), oid in content.files.items():
                files.setdefault(saltenv, {})[path] = oid
    return {env: dict(sorted(files[env].items())) for env in sorted(files)}, contents


def chunk_keys(chunks: Sequence[Chunk]) -> dict[str, Chunk]:
    """A unique key for each chunk, in the order given.

    A lowstate names a chunk that others are a prereq of twice: once to be predicted, once to be run. Who runs it
    predicts on demand, so the first has no key.
    """
    keyed: dict[str, Chunk] = {}
    last = {chunk.tag: place for place, chunk in enumerate(chunks) if chunk.arguments.get("__prereq__")}
    for place, chunk in enumerate(chunks):
        if last.get(chunk.tag, place) != place:
            continue
        key, count = chunk.tag, 1
        while key in keyed:
            count += 1
            key = f"{chunk.tag}#{count}"
        keyed[key] = chunk
    return keyed
