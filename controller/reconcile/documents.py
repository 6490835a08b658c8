"""Desired documents by digest: read from the store, unpacked, and made into patches. A small cache, nothing else."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from cachetools import LRUCache

from controller.store import Store
from highstate.desired import Desired
from highstate.types import Chunk
from wire import patch
from wire.messages import DesiredUpdate

MOST = 6_000
"""States that are kept for having been asked for lately; as many of before are kept with them."""
MOST_BYTES = 8 * 1024 * 1024
"""Of these, as msgpack."""
LARGEST = 64 * 1024
"""Bytes of a state that is kept."""
MOST_DOCUMENTS = 256
"""Documents that are kept unpacked: both of each minion that was sent one lately and has not begun its run."""
DOCUMENT_BYTES = 256 * 1024
"""Of msgpack, on average: larger ones take the room of several, and one that takes that of all is not kept."""


class SharedChunk(NamedTuple):
    """One state. Not to be modified."""

    low: dict[str, Any]
    """As the document has it."""
    chunk: Chunk


class ChunkPool:
    """The states that were unpacked lately. Those of minions of a class are the same bytes, and become one object each.

    What compares documents sees by identity what is equal, and `LinkFinder` what it knows. For one thread at a time.
    """

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


_PARTS = msgspec.msgpack.Decoder(dict[str, msgspec.Raw])


class _Unpacked(NamedTuple):
    plain: dict[str, Any]
    chunks: dict[str, Chunk]
    room: int
    """Bytes that it counts for."""


def _unpack(packed: bytes, pool: ChunkPool) -> _Unpacked:
    parts = _PARTS.decode(packed)
    shared = {key: pool.take(bytes(raw)) for key, raw in _PARTS.decode(parts["chunks"]).items()}
    lows = {key: each.low for key, each in shared.items()}
    plain = {name: lows if name == "chunks" else msgspec.msgpack.decode(raw) for name, raw in parts.items()}
    chunks = {key: each.chunk for key, each in shared.items()}
    return _Unpacked(plain, chunks, max(len(packed), DOCUMENT_BYTES))


class Documents:
    """The documents of a fleet.

    Args:
        store: where they are.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        room = MOST_DOCUMENTS * DOCUMENT_BYTES
        self._cache: LRUCache[str, _Unpacked] = LRUCache(room, getsizeof=lambda kept: kept.room)
        self._pool = ChunkPool()
        self._lock = threading.Lock()

    def document(self, digest: str) -> Any | None:
        """Plain values; None when the store has no such document. Not to be modified. May be called from any thread."""
        found = self._unpacked(digest)
        return found.plain if found is not None else None

    def desired(self, digest: str) -> Desired:
        """The typed document; LookupError when there is none. States that others have, too, are the same objects."""
        found = self._unpacked(digest)
        if found is None:
            raise LookupError(f"no document {digest}")
        return Desired.from_document(found.plain, found.chunks)

    def _unpacked(self, digest: str) -> _Unpacked | None:
        with self._lock:
            found = self._cache.get(digest)
        if found is None:
            packed = self._store.documents.get(digest) if digest else None
            if packed is None:
                return None
            with self._lock:
                found = _unpack(packed, self._pool)
                with suppress(ValueError):  # it is larger than all that is kept
                    self._cache[digest] = found
        return found

    def desire(self, generation: int, digest: str, held: str) -> DesiredUpdate:
        """The message that takes a minion from what it holds to a document of the store."""
        old = self.document(held)
        if old is None:
            packed = self._store.documents.get(digest)
            if packed is None:
                raise LookupError(f"no document {digest}")
            # It is sent as it is kept: to unpack it and pack it again takes twenty times as long.
            return DesiredUpdate(generation=generation, base="", digest=digest, patch=["v", msgspec.Raw(packed)])
        new = self.document(digest)
        if new is None:
            raise LookupError(f"no document {digest}")
        return DesiredUpdate(generation=generation, base=held, digest=digest, patch=patch.diff(old, new))
