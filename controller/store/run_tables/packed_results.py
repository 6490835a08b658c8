"""Results of runs as the store keeps them: as msgpack, compressed where that saves something."""

from __future__ import annotations

import zlib
from typing import Any

import msgspec

_SMALL = 256
"""Bytes below which compression costs more than it saves."""
_COMPRESSED = b"\x78"
"""The first byte of zlib's form (RFC 1950, with the usual window); a mapping of msgpack begins with no such."""


def packed_result(result: Any) -> bytes:
    """A result, which is a mapping, as the store keeps it."""
    packed = msgspec.msgpack.encode(result)
    return packed if len(packed) < _SMALL and packed[:1] != _COMPRESSED else zlib.compress(packed, 1)


def unpacked_result(blob: bytes) -> Any:
    """What `packed_result` was given, as plain values."""
    packed = zlib.decompress(blob) if blob[:1] == _COMPRESSED else blob
    return msgspec.msgpack.decode(packed, strict=False)
