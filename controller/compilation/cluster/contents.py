"""What a Dask worker keeps of a controller's trees: contents by content address, the last used, within a bound.

Called by `lanes`, from the threads of the worker.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping

from cachetools import LRUCache

MOST_BYTES = 256 * 1024 * 1024
"""That are kept for each controller."""


class ContentStore:
    """Contents of one controller. `name` tells one store from another: what was given to one, another does not have."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self.name = secrets.token_hex(8)
        self._contents: LRUCache[str, bytes] = LRUCache(most_bytes, getsizeof=len)
        self._lock = threading.Lock()

    def get(self, key: str) -> bytes | None:
        """A content; None where it is not known (any more)."""
        with self._lock:
            return self._contents.get(key)

    def put(self, contents: Mapping[str, bytes]) -> None:
        """Keep these; what is too large for it is not kept."""
        with self._lock:
            for key, content in contents.items():
                if len(content) <= self._contents.maxsize:
                    self._contents[key] = content
