"""Packed documents of many minions as `Desired`: what several minions have alike is decoded once.

Called by `comparison`, in a thread. Equal chunks become the same object, so that comparing them costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import msgspec

from highstate.desired import Desired
from highstate.types import Chunk

_MOST_CHUNKS = 2_500
"""That are kept for other minions: those that are alike come one after the other."""
_MOST_BYTES = 32 * 1024 * 1024
"""The same, as they are packed: how large one is, is up to a branch."""


class _Document(msgspec.Struct):
    """`Desired.as_document` with chunks that are not decoded yet."""

    chunks: dict[str, msgspec.Raw]
    pillar: dict[Any, Any]
    files: dict[str, dict[str, str]]
    contents: dict[str, str]
    drift: dict[str, Any]
    modes: dict[str, dict[str, int]] = {}
    links: dict[str, dict[str, str]] = {}
    modules: dict[str, str] = {}


_DOCUMENT = msgspec.msgpack.Decoder(_Document)


@dataclass(slots=True)
class DocumentReader:
    """Of one preview; for one thread at a time."""

    _chunks: dict[bytes, Chunk] = field(default_factory=dict)
    _bytes: int = 0
    _keys: dict[str, str] = field(default_factory=dict)
    """Keys of chunks, each once: a preview keeps those that minions would run, and alike minions have the same."""

    def read(self, packed: bytes) -> Desired:
        """A document, as `document_encoder` packs it. msgspec.MsgspecError when it is none."""
        document = _DOCUMENT.decode(packed)
        if len(self._keys) > 2 * _MOST_CHUNKS:
            self._keys.clear()
        known = self._keys.setdefault
        return Desired(
            chunks={known(key, key): self._chunk(bytes(raw)) for key, raw in document.chunks.items()},
            pillar=document.pillar,
            files=document.files,
            modes=document.modes,
            links=document.links,
            contents=document.contents,
            modules=document.modules,
            drift=document.drift,
        )

    def _chunk(self, packed: bytes) -> Chunk:
        found = self._chunks.get(packed)
        if found is None:
            self._bytes += len(packed)
            if len(self._chunks) >= _MOST_CHUNKS or self._bytes > _MOST_BYTES:
                self._chunks.clear()
                self._bytes = len(packed)
            found = self._chunks[packed] = Chunk.from_salt(msgspec.msgpack.decode(packed))
        return found
