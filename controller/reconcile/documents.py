"""Desired documents by digest: read from the store, unpacked, and made into patches. A small cache, nothing else."""

from __future__ import annotations

import threading
from typing import Any

import msgspec
from cachetools import LRUCache

from controller.store import Store
from highstate.desired import Desired
from wire import patch
from wire.messages import DesiredUpdate


class Documents:
    """The documents of a fleet.

    Args:
        store: where they are.
        bound: documents that are kept unpacked.
    """

    def __init__(self, store: Store, *, bound: int = 32) -> None:
        self._store = store
        self._cache: LRUCache[str, Any] = LRUCache(bound)
        self._lock = threading.Lock()

    def document(self, digest: str) -> Any | None:
        """Plain values; None when the store has no such document. Not to be modified. May be called from any thread."""
        with self._lock:
            found = self._cache.get(digest)
        if found is None:
            packed = self._store.documents.get(digest) if digest else None
            if packed is None:
                return None
            found = msgspec.msgpack.decode(packed)
            with self._lock:
                self._cache[digest] = found
        return found

    def desired(self, digest: str) -> Desired:
        """The typed document; LookupError when there is none."""
        document = self.document(digest)
        if document is None:
            raise LookupError(f"no document {digest}")
        return Desired.from_document(document)

    def desire(self, generation: int, digest: str, held: str) -> DesiredUpdate:
        """The message that takes a minion from what it holds to a document of the store."""
        new, old = self.document(digest), self.document(held)
        if new is None:
            raise LookupError(f"no document {digest}")
        if old is None:
            return DesiredUpdate(generation=generation, base="", digest=digest, patch=["v", new])
        return DesiredUpdate(generation=generation, base=held, digest=digest, patch=patch.diff(old, new))
