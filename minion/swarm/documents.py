"""Desired documents that simulated minions hold: each content once, however many members hold it.

Used by `minion.swarm.member`. Knows nothing of connections.
"""

from __future__ import annotations

from typing import Any

from wire import patch
from wire.errors import PatchMismatch


class HeldDocuments:
    """Documents by digest, with the number of their holders."""

    def __init__(self) -> None:
        self._documents: dict[str, Any] = {}
        self._holders: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._documents)

    def take(self, base: str, digest: str, change: Any) -> None:
        """One more member holds the document `digest`, which `change` makes of the one with digest `base`.

        An empty `base`: `change` carries the whole. PatchMismatch when that does not give what it should.
        """
        if digest not in self._documents:
            if base and base not in self._documents:
                raise PatchMismatch(f"{base[:12]} is not held")
            made = patch.apply(self._documents[base] if base else None, change)
            if patch.digest(made) != digest:
                raise PatchMismatch(f"the patch does not give {digest[:12]}")
            self._documents[digest] = made
        self._holders[digest] = self._holders.get(digest, 0) + 1

    def leave(self, digest: str) -> None:
        """One member less holds it."""
        left = self._holders.get(digest, 0) - 1
        if left > 0:
            self._holders[digest] = left
        else:
            self._holders.pop(digest, None)
            self._documents.pop(digest, None)

    def get(self, digest: str) -> Any:
        """A document; None where nobody holds it."""
        return self._documents.get(digest)
