"""States of documents, unpacked once: those of minions of a class are the same bytes, and become the same objects.

Called by `Documents`. What compares documents sees by identity what is equal, and `LinkFinder` what it knows already.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from highstate.types import Chunk

MOST = 6_000
"""States that are kept for having been asked for lately; as many of before are kept with them."""
MOST_BYTES = 8 * 1024 * 1024
"""Of these, as msgpack."""
LARGEST = 64 * 1024
"""Bytes of a state that is kept."""


class SharedChunk(NamedTuple):
    """One state. Not to be modified."""

    low: dict[str, Any]
    """As the document has it."""
    chunk: Chunk


class ChunkPool:
    """The states that were unpacked lately. For one thread at a time."""

    def __init__(self) -> None:
        self._new: dict[bytes, SharedChunk] = {}
        self._bytes = 0
        """Of the new ones."""
        self._old: dict[bytes, SharedChunk] = {}
        """Those of before; who is asked for again goes to the new ones, and the rest is forgotten with the next."""

    def take(self, packed: bytes) -> SharedChunk:
        """The state that these bytes of msgpack say. msgspec.DecodeError when they are none."""
        found = self._new.get(packed)
        if found is None:
            found = self._old.get(packed) or _unpacked(packed)
            if len(packed) <= LARGEST:
                self._keep(packed, found)
        return found

    def _keep(self, packed: bytes, found: SharedChunk) -> None:
        if len(self._new) >= MOST or self._bytes + len(packed) > MOST_BYTES:
            self._old, self._new, self._bytes = self._new, {}, 0
        self._new[packed] = found
        self._bytes += len(packed)


def _unpacked(packed: bytes) -> SharedChunk:
    low = msgspec.msgpack.decode(packed)
    return SharedChunk(low, Chunk.from_salt(low))
