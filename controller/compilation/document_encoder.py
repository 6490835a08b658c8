"""Compiled minions -> packed documents. What minions of a class share is packed once.

Called by `compile_worker`. Law (tested): the bytes are those of packing the whole document at once.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec

from highstate.desired import chunk_keys, desired_of, kept_links, kept_modes, used_files
from highstate.types import Chunk, Compiled, Value

_ENCODER = msgspec.msgpack.Encoder()
_CLASSES = 512


@dataclass(frozen=True, slots=True)
class _Class:
    """A lowstate that others share chunks with, and its packed entries, in order."""

    lowstate: tuple[Chunk, ...]
    keys: tuple[str, ...]
    entries: tuple[bytes, ...]


@dataclass(slots=True)
class Packer:
    """Keeps the packed chunks of the classes that it met last."""

    _classes: OrderedDict[int, _Class] = field(default_factory=OrderedDict)

    def pack(self, compiled: Compiled, drift: Mapping[str, Value], modules: Mapping[str, str] | None = None) -> bytes:
        """The document of a minion that compiled; OverflowError, TypeError or ValueError for what cannot be packed."""
        if not compiled.like:
            return _ENCODER.encode(desired_of(compiled, drift=drift, modules=modules).as_document())
        known = self._class(compiled.like)
        # Those of a class have one tag each.
        chunks = {
            key if chunk is shared else chunk.tag: chunk
            for key, chunk, shared in zip(known.keys, compiled.lowstate, known.lowstate, strict=True)
        }
        entries = [
            entry if chunk is shared else _entry(key, chunk)
            for (key, chunk), shared, entry in zip(chunks.items(), known.lowstate, known.entries, strict=True)
        ]
        files, contents = used_files(chunks, compiled)
        modes = kept_modes(chunks, compiled)
        links = kept_links(chunks, compiled)
        rest = {"pillar": dict(compiled.pillar), "files": files, **({"modes": modes} if modes else {})}
        rest |= {"links": links} if links else {}
        rest |= {"contents": contents, **({"modules": dict(modules)} if modules else {}), "drift": dict(drift)}
        head = _map_head(1 + len(rest)) + _ENCODER.encode("chunks") + _map_head(len(entries))
        return b"".join([head, *entries, *(_ENCODER.encode(key) + _ENCODER.encode(rest[key]) for key in rest)])

    def forget_oldest(self) -> None:
        """Give up the half of the classes that were not met for longest."""
        for _ in range((len(self._classes) + 1) // 2):
            self._classes.popitem(last=False)

    def _class(self, lowstate: tuple[Chunk, ...]) -> _Class:
        found = self._classes.get(id(lowstate))
        if found is None:
            keyed = chunk_keys(lowstate)
            entries = tuple(_entry(key, chunk) for key, chunk in keyed.items())
            found = self._classes[id(lowstate)] = _Class(lowstate, tuple(keyed), entries)
            if len(self._classes) > _CLASSES:
                self._classes.popitem(last=False)
        self._classes.move_to_end(id(lowstate))
        return found


def _entry(key: str, chunk: Chunk) -> bytes:
    return _ENCODER.encode(key) + _ENCODER.encode(chunk.as_salt())


def _map_head(size: int) -> bytes:
    """The head of a msgpack map (its specification, "map format family")."""
    if size < 16:
        return bytes([0x80 | size])
    return b"\xde" + size.to_bytes(2, "big") if size < 65536 else b"\xdf" + size.to_bytes(4, "big")
