"""Which chunk has a requisite on which, in one run.

Called by the runner. Fixed once the chunks are; results are not known here.
"""

from __future__ import annotations

from collections.abc import Mapping

from highstate.run.requisites import KINDS, Index, has_any, items, may_be_empty, said
from highstate.types import Chunk

Named = dict[str, list[str]]
"""Kind of requisite → keys of the chunks that it means."""


class Graph:
    """The chunks of a run by key, and what their requisites mean."""

    def __init__(self, chunks: Mapping[str, Chunk]) -> None:
        self.chunks = chunks
        self.index = Index(chunks)
        self.followers: dict[str, list[str]] = {}
        """Key → keys of the chunks that are a prereq of it, so must run before it."""
        for key, chunk in chunks.items():
            for item in items(chunk, "prereq") if "prereq" in chunk.arguments else ():
                for first in self.index.find(item, key):
                    self.followers.setdefault(first, []).append(key)

    def named(self, key: str) -> tuple[Named, list[str]]:
        """What a chunk's requisites mean, and a line for each item that means nothing."""
        chunk, found, missing = self.chunks[key], Named(), list[str]()
        if not has_any(chunk):
            return found, missing
        for kind in KINDS:
            for item in items(chunk, kind):
                keys = self.index.find(item, key)
                if keys:
                    found[kind] = list(dict.fromkeys([*found.get(kind, ()), *keys]))
                elif not may_be_empty(item):
                    missing.append(said(kind, item))
        return found, missing

    def before(self, found: Named) -> list[str]:
        """Keys of those that run before the chunk whose requisites these are."""
        return [one for kind, keys in found.items() if kind != "prereq" for one in keys]

    def names(self, keys: list[str]) -> list[str]:
        """As comments name chunks."""
        return list(dict.fromkeys(f"{self.chunks[key].sls}.{self.chunks[key].id}" for key in keys))
