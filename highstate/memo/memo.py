"""Memoised results of renders, looked up by what the renders read.

A template is a function of its reads, and it reads in an order that follows from the answers: so the results
of one template form a tree whose nodes are reads and whose branches are digests of answers. Finding the result
for another minion walks that tree once, asking only what the template itself asked. Used by render and pillar;
one `Memo` may serve many threads. Law (property-tested): a result found here equals a fresh one.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from highstate.memo.sources import Read


class Answers(Protocol):
    """Whom a memo asks what a read gives here (`tracked.Sources` is one)."""

    def digest(self, read: Read) -> bytes:
        """Equal digests mean that nothing that was made of the answer can differ."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """A result, and the reads on which it stands."""

    result: Any
    reads: Mapping[Read, bytes]


@dataclass(slots=True, eq=False)
class _Node:
    """The next read after certain answers; or, without one, the result."""

    read: Read | None = None
    result: Any = None
    branches: dict[bytes, _Node] = field(default_factory=dict)
    above: tuple[_Node, bytes] | None = None
    key: Hashable = None


class Memo:
    """Bounded: beyond `size` results, those not used for longest go first."""

    def __init__(self, size: int = 50_000) -> None:
        self._size = size
        self._trees: dict[Hashable, _Node] = {}
        # By use, oldest first. No LRUCache: what goes has to be cut off its tree, and a bound of 0 keeps nothing.
        self._leaves: OrderedDict[int, _Node] = OrderedDict()
        self._lock = threading.RLock()  # to answer a read may take a result from here too
        self.hits = 0
        self.misses = 0
        self.conflicts = 0
        """Times that a template read differently after equal answers: always 0, or reads are not recorded right."""

    def __len__(self) -> int:
        return len(self._leaves)

    def find(self, key: Hashable, sources: Answers) -> Hit | None:
        """The result stored under `key` whose reads give the same answers from `sources`, if there is one."""
        with self._lock:
            node, reads = self._trees.get(key), {}
            while node is not None and node.read is not None:
                digest = reads[node.read] = sources.digest(node.read)
                node = node.branches.get(digest)
            if node is None:
                self.misses += 1
                return None
            self.hits += 1
            if id(node) in self._leaves:
                self._leaves.move_to_end(id(node))
            return Hit(result=node.result, reads=reads)

    def store(self, key: Hashable, reads: Mapping[Read, bytes], result: Any) -> None:
        """Keep `result`, which must never be changed afterwards by anyone."""
        with self._lock:
            node = self._trees.setdefault(key, _Node(key=key))
            for read, digest in reads.items():
                if node.read != read:
                    self._replace(node)
                    node.read, node.result = read, None
                child = node.branches.get(digest)
                if child is None:
                    child = node.branches[digest] = _Node(above=(node, digest), key=key)
                node = child
            if node.read is not None:
                self._replace(node)
                node.read = None
            node.result = result
            self._leaves[id(node)] = node
            self._leaves.move_to_end(id(node))
            while len(self._leaves) > self._size:
                self._drop(self._leaves.popitem(last=False)[1])

    def forget_oldest(self) -> None:
        """Give up the half of the results that were not used for longest."""
        with self._lock:
            for _ in range((len(self._leaves) + 1) // 2):
                self._drop(self._leaves.popitem(last=False)[1])

    def _drop(self, node: _Node) -> None:
        """Cut a leaf off, with the branch that carried nothing else."""
        while node.above is not None:
            above, digest = node.above
            above.branches.pop(digest, None)
            if above.branches:
                return
            node = above
        self._trees.pop(node.key, None)

    def _replace(self, node: _Node) -> None:
        """Make room where a template reads something else than it did."""
        if node.branches or id(node) in self._leaves:
            self.conflicts += 1
        self._forget_below(node)

    def _forget_below(self, node: _Node) -> None:
        self._leaves.pop(id(node), None)
        for child in node.branches.values():
            self._forget_below(child)
        node.branches.clear()
