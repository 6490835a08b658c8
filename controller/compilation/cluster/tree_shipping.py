"""What of a tree is sent to a worker with a request, before it is asked for: each question costs a way there and back.

Used by `dask_process`, shared by all lanes, from their threads.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Set

from cachetools import LRUCache

from controller.compilation.cluster.shipped_files import ContentQuestion, Shipped, shipped
from highstate.files import parts_of
from highstate.types import Files

SENT_BYTES = 4 * 1024 * 1024
"""Of contents with one request."""
_LARGEST = 256 * 1024
"""Of one of them; larger ones are asked for."""
_RENDERED = (".sls", ".jinja", ".j2", ".yaml", ".yml", ".json", ".map", ".tmpl", ".template", ".mako")
"""Endings of files that compiles read, before it is known which they do."""
_REMEMBERED = 65_536
_KEPT_TREES = 4
_Place = tuple[str, int, str, str]
"""Tree, part, saltenv, path."""


class TreeShipping:
    """Trees as they are sent, and which of their files compiles have asked for."""

    def __init__(self) -> None:
        self._trees: LRUCache[tuple[str, str], Shipped] = LRUCache(_KEPT_TREES)
        self._asked: LRUCache[_Place, bool] = LRUCache(_REMEMBERED)
        self._large: LRUCache[str, bool] = LRUCache(_REMEMBERED)
        """Content ids of what is not sent unasked."""
        self._lock = threading.Lock()

    def shipped(self, tree: str, files: Files) -> Shipped:
        """A tree to send in place of `files`; `tree` is `files` or `pillar`."""
        key = (tree, files.digest)
        with self._lock:  # lanes begin together, with the same tree: it is listed once
            found = self._trees.get(key)
            if found is None:
                found = self._trees[key] = shipped(tree, files)
            return found

    def asked_for(self, question: ContentQuestion) -> None:
        """A compile reads this file; the next tree's is sent at once."""
        if question.tree:
            with self._lock:
                self._asked[question.tree, question.part, question.saltenv, question.path] = True

    def contents(self, tree: str, files: Files, known: Set[str]) -> dict[str, bytes]:
        """By content address: listings, and what compiles probably read, as far as the worker does not know it."""
        listings = self.shipped(tree, files).listings
        own = self.shipped(tree, files).files
        wanted = {own.listings[env] for env in ("base",) if env in own.listings}
        wanted |= {part.listings["base"] for part in own.shipped_parts if "base" in part.listings}
        found = {key: listings[key] for key in wanted if key not in known}
        size = 0
        for part, saltenv, path in self._likely(tree, files):
            oid = part.oid(path, saltenv)
            if oid is None or oid in known or oid in found or oid in self._large:
                continue
            try:
                content = part.read(path, saltenv)
            except (OSError, ValueError):
                continue  # the compile asks for it, and says what is wrong
            if len(content) > _LARGEST:
                self._large[oid] = True
                continue
            found[oid] = content
            size += len(content)
            if size > SENT_BYTES:
                break
        return found

    def _likely(self, tree: str, files: Files) -> Iterator[tuple[Files, str, str]]:
        """(tree, saltenv, path) of files that compiles have asked for, then of those that look like it."""
        parts = list(parts_of(files).values())
        with self._lock:
            asked = list(self._asked)
        for name, number, saltenv, path in asked:
            if name == tree and number < len(parts):
                yield (files if number < 0 else parts[number]), saltenv, path
        for part in parts:
            for path in part.list("", "base"):
                if path.endswith(_RENDERED):
                    yield part, "base", path
