"""Code of Jinja templates that compile workers have made, for the other processes that compile.

Making the code of a template takes some hundred times as long as taking it over. Workers that compile what is live put
it here; those of previews only take it, so that a branch leaves nothing to what is live. It lies in the controller's
memory and ends with it. The controller never looks into it.
"""

from __future__ import annotations

import threading
from collections.abc import Collection

import msgspec
from cachetools import LRUCache

MOST_CODE_BYTES = 1024 * 1024
"""Of one template; larger ones are made in each process."""
_KEY_BYTES = 64
"""A digest has fewer."""


class TemplateCode(msgspec.Struct, frozen=True, kw_only=True, tag="code"):
    """What a worker says of the code of a template: here it is, or, where it is empty, that it needs it."""

    key: bytes
    """Digest of all that the code was made of."""
    code: bytes = b""


class TemplateCodes:
    """The codes that were used last. May be used from any thread.

    Args:
        most_bytes: that are kept.
    """

    def __init__(self, most_bytes: int) -> None:
        self._codes: LRUCache[bytes, bytes] = LRUCache(most_bytes, getsizeof=len)
        self._lock = threading.Lock()

    @property
    def most_bytes(self) -> int:
        """That are kept."""
        return int(self._codes.maxsize)

    def lacking(self, known: Collection[bytes]) -> list[TemplateCode]:
        """All codes but those of these keys."""
        with self._lock:
            return [TemplateCode(key=key, code=code) for key, code in self._codes.items() if key not in known]

    def get(self, key: bytes) -> bytes:
        """The code; empty where it is not known."""
        with self._lock:
            return self._codes.get(key, b"")

    def put(self, said: TemplateCode) -> None:
        """Keep a code for others; one that is too large, or has no proper key, is not kept."""
        if len(said.key) <= _KEY_BYTES and len(said.code) <= min(MOST_CODE_BYTES, self._codes.maxsize):
            with self._lock:
                self._codes[said.key] = said.code
