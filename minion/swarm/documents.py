"""Desired documents that simulated minions hold: ten thousand of them are one class and a few values of their own.

What stands two levels deep in a document (a chunk, a key of pillar) is kept packed, and once for all documents that
have it; a patch unpacks what it changes alone. Used by `minion.swarm.member`. Knows nothing of connections.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from wire import patch
from wire.errors import PatchMismatch

_ENCODER = msgspec.msgpack.Encoder()
_FEWEST = 4096
"""Pieces that are kept before somebody looks which of them no document has any more."""


class HeldDocuments:
    """Documents by digest, with the number of their holders."""

    def __init__(self) -> None:
        self._documents: dict[str, dict[Any, Any]] = {}
        self._holders: dict[str, int] = {}
        self._pieces: dict[bytes, msgspec.Raw] = {}
        """Packed values, which equal ones in other documents share."""
        self._keys: dict[Any, Any] = {}
        self._sweep_at = _FEWEST

    def __len__(self) -> int:
        return len(self._documents)

    @property
    def pieces(self) -> int:
        """Values that are kept for all documents."""
        return len(self._pieces)

    def take(self, base: str, digest: str, change: Any) -> None:
        """One more member holds the document `digest`, which `change` makes of the one with digest `base`.

        An empty `base`: `change` carries the whole. PatchMismatch when that does not give what it should.
        """
        if digest not in self._documents:
            if base and base not in self._documents:
                raise PatchMismatch(f"{base[:12]} is not held")
            made = patch.apply(_thawed(self._documents[base], change) if base else None, change)
            if not isinstance(made, dict):
                raise PatchMismatch("the patch gives no document")
            kept = {self._key(key): self._kept(value) for key, value in made.items()}
            if patch.digest(kept) != digest:
                raise PatchMismatch(f"the patch does not give {digest[:12]}")
            self._documents[digest] = kept
        self._holders[digest] = self._holders.get(digest, 0) + 1

    def leave(self, digest: str) -> None:
        """One member less holds it."""
        left = self._holders.get(digest, 0) - 1
        if left > 0:
            self._holders[digest] = left
        else:
            self._holders.pop(digest, None)
            self._documents.pop(digest, None)
            if len(self._pieces) > self._sweep_at:
                self._sweep()

    def get(self, digest: str) -> Mapping[str, Any] | None:
        """A document, which unpacks what is looked at; None where nobody holds it."""
        found = self._documents.get(digest)
        return None if found is None else _Document(found)

    def _kept(self, value: Any, depth: int = 1) -> Any:
        if isinstance(value, dict) and depth:
            return {self._key(key): self._kept(inner, depth - 1) for key, inner in value.items()}
        packed = bytes(value) if isinstance(value, msgspec.Raw) else _ENCODER.encode(value)
        found = self._pieces.get(packed)
        if found is None:
            found = self._pieces[packed] = msgspec.Raw(packed)
        return found

    def _key(self, key: Any) -> Any:
        """The key, one object for all documents."""
        return self._keys.setdefault(key, key) if isinstance(key, str) else key

    def _sweep(self) -> None:
        """Forget what no document has any more."""
        used = {bytes(piece) for document in self._documents.values() for piece in _pieces_of(document)}
        self._pieces = {packed: piece for packed, piece in self._pieces.items() if packed in used}
        self._keys = {}
        self._sweep_at = max(_FEWEST, 2 * len(self._pieces))


def _pieces_of(value: Any) -> Iterator[msgspec.Raw]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from _pieces_of(inner)
    else:
        yield value


def _thawed(held: Any, change: Any) -> Any:
    """What is held, with those parts unpacked that a patch looks into."""
    match change:
        case ["m", [*changed], *_] if isinstance(held, dict):
            inner = {pair[0]: pair[1] for pair in changed if isinstance(pair, list) and len(pair) == 2}
            return {key: _thawed(value, inner[key]) if key in inner else value for key, value in held.items()}
        case ["m", *_] if isinstance(held, msgspec.Raw):
            return msgspec.msgpack.decode(held)
        case _:
            return held


class _Document(Mapping[str, Any]):
    """A held document, or a mapping in it."""

    def __init__(self, held: Mapping[str, Any]) -> None:
        self._held = held

    def __getitem__(self, key: str) -> Any:
        value = self._held[key]
        return _Document(value) if isinstance(value, dict) else msgspec.msgpack.decode(value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._held)

    def __len__(self) -> int:
        return len(self._held)
