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


class _Chunk(msgspec.Struct):
    state: str
    fun: str
    name: msgspec.Raw


class _Document(msgspec.Struct):
    """The outline of `Desired.as_document`."""

    chunks: dict[str, msgspec.Raw]
    pillar: dict[str, msgspec.Raw]
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
        self._known: set[bytes] = set()
        self._size = 0

    def check(self, document: bytes) -> None:
        """msgspec.MsgspecError or ValueError for what is no document, or is nested too deeply."""
        outline = _DOCUMENT.decode(document)
        for chunk in outline.chunks.values():
            self._look(b"c", chunk)
        for value in (*outline.pillar.values(), *outline.drift.values()):
            self._look(b"v", value)

    def _look(self, kind: bytes, raw: msgspec.Raw) -> None:
        part = kind + bytes(raw)
        if part in self._known:
            return
        if kind == b"c":
            _CHUNK.decode(raw)
        if not is_shallow(msgspec.msgpack.decode(raw), MOST_LEVELS):
            raise ValueError(f"a document that is nested more than {MOST_LEVELS} levels deep")
        self._size += len(part)
        if self._size > _REMEMBERED_BYTES:
            self._known, self._size = set(), len(part)
        self._known.add(part)
