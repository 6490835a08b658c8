"""Looks at a document that a compile worker sends, before anything walks through it: outline and depth.

Called by `controller.compilation.workers.process`, a check for each process. Minions share most of their
chunks, so that parts which were looked at are known by their bytes.
"""

from __future__ import annotations

import msgspec

from highstate.data_limits import is_shallow
from highstate.limits import DataLimits

MOST_LEVELS = DataLimits().depth + 20
"""Of a chunk or a value of the pillar: those of its data, and its own."""
_REMEMBERED_BYTES = 16 * 1024 * 1024
"""Of parts that were looked at."""
_OPENING = bytes([*range(0x80, 0xA0), *range(0xDC, 0xE0)])
"""Bytes with which mappings and lists begin (msgpack's specification, "formats"); other bytes may be these, too."""


class _Chunk(msgspec.Struct):
    state: str
    fun: str
    name: msgspec.Raw


class _Document(msgspec.Struct):
    """The outline of `Desired.as_document`."""

    chunks: dict[str, msgspec.Raw]
    pillar: dict[str | int | float | bool | None, msgspec.Raw]
    files: dict[str, dict[str, str]]
    contents: dict[str, str]
    drift: dict[str, msgspec.Raw]
    modes: dict[str, dict[str, int]] = {}
    links: dict[str, dict[str, str]] = {}
    modules: dict[str, str] = {}


_DOCUMENT = msgspec.msgpack.Decoder(_Document)
_CHUNK = msgspec.msgpack.Decoder(_Chunk)


class DocumentCheck:
    """Knows the parts of the documents that it has looked at. For one thread at a time."""

    def __init__(self) -> None:
        self._chunks: set[bytes] = set()
        self._values: set[bytes] = set()
        self._size = 0

    def check(self, document: bytes) -> None:
        """msgspec.MsgspecError or ValueError for what is no document, or is nested too deeply."""
        outline = _DOCUMENT.decode(document)
        chunks = set(map(bytes, outline.chunks.values())) - self._chunks
        for chunk in chunks:
            _CHUNK.decode(chunk)
            _check_value(chunk)
        values = {bytes(value) for value in (*outline.pillar.values(), *outline.drift.values())} - self._values
        for value in values:
            _check_value(value)
        self._remember(chunks, values)

    def _remember(self, chunks: set[bytes], values: set[bytes]) -> None:
        self._size += sum(map(len, chunks)) + sum(map(len, values))
        if self._size > _REMEMBERED_BYTES:
            self._chunks, self._values = set(), set()
            self._size = 0
        else:
            self._chunks |= chunks
            self._values |= values


def _check_value(packed: bytes) -> None:
    value = msgspec.msgpack.decode(packed)  # which looks at texts and keys, too
    openings = len(packed) - len(packed.translate(None, _OPENING))
    # Not so many mappings and lists cannot be so deep in each other.
    if openings > MOST_LEVELS and not is_shallow(value, MOST_LEVELS):
        raise ValueError(f"a document that is nested more than {MOST_LEVELS} levels deep")
