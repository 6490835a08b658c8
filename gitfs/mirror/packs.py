"""Packs of git: what their indexes say, and new ones.

Called by `gitfs.mirror.pack_copy`, `gitfs.mirror.local_remote` and `gitfs.mirror.gc`. Reads indexes as files and never
maps them: one that is overwritten meanwhile is recognised by its checksum. The forms are git's (gitformat-pack).
"""

from __future__ import annotations

import hashlib
import sys
from array import array
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pygit2

SUM = 20
"""Bytes of an id, and of the sum at a file's end."""

_HEAD = 8 + 256 * 4
_BEGINNING = b"\xfftOc\x00\x00\x00\x02"


@dataclass(frozen=True, slots=True)
class PackIndex:
    """The bytes of an index, whose own sum is right."""

    text: bytes

    @property
    def pack_sum(self) -> bytes:
        """What the pack has to end with."""
        return self.text[-2 * SUM : -SUM]

    def ids(self) -> Iterator[bytes]:
        """The objects of the pack."""
        return (self.text[_HEAD + SUM * number : _HEAD + SUM * (number + 1)] for number in range(self._count))

    def bytes_of(self, needed: Collection[bytes], size: int) -> int:
        """Bytes that these objects take of a pack of that size; 0 for one of more than 2 GiB, of another form."""
        offsets = array("I", self.text[_HEAD + 24 * self._count : _HEAD + 28 * self._count])
        if sys.byteorder == "little":
            offsets.byteswap()
        ordered = sorted(offsets)
        if not ordered or ordered[-1] >= 1 << 31:
            return 0
        ends = dict(zip(ordered, [*ordered[1:], size - SUM], strict=True))
        return sum(ends[start] - start for oid, start in zip(self.ids(), offsets, strict=True) if oid in needed)

    @property
    def _count(self) -> int:
        return int.from_bytes(self.text[_HEAD - 4 : _HEAD], "big")


def read_index(path: Path) -> PackIndex | None:
    """The index; None when it is damaged or of another form. OSError when it is not there."""
    text = path.read_bytes()
    right = text.startswith(_BEGINNING) and hashlib.sha1(text[:-SUM], usedforsecurity=False).digest() == text[-SUM:]
    return PackIndex(text) if right else None


def write_pack(source: pygit2.Repository, oids: Collection[pygit2.Oid], folder: Path, *, threads: int = 1) -> None:
    """Write a pack of these objects into a folder. libgit2 looks for all deltas anew: 0.2 s for each megabyte."""

    def add(builder: pygit2.PackBuilder) -> None:
        for oid in oids:
            builder.add(oid)

    packer = pygit2.Repository()  # of no refs: to order a pack, libgit2 opens each one that there is
    try:
        packer.set_odb(source.odb)
        packer.pack(str(folder), pack_delegate=add, n_threads=threads)
    finally:
        packer.free()  # or the packs of the source stay mapped until somebody collects garbage
