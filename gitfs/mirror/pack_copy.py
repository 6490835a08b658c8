"""Copies packs of a repository on this machine, where computing deltas again would take long.

Called by `gitfs.mirror.local_remote`; `finish` by `gitfs.mirror.mirror_store`. Only reads from the remote, which may be
repacked meanwhile. A pack is taken whose own sums are right and that is mostly needed; what is left after that is
packed here. Nothing of it is a part of the mirror until all is there, as git takes what has an object to have all that
the object leads to:

1. `<repository>/saltern-arriving/pack` gets the packs, each on the disk before the next step.
2. What is needed and in none of them is packed beside them.
3. `whole` says that all is there: from here on, the next process after a kill finishes the rest.
4. The packs are moved to where the repository's own are.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path
from typing import IO

import pygit2

from gitfs.mirror.packs import SUM, read_index, write_pack

MOST_LEFT = 5000
"""Objects that are packed here, beside the packs."""
LEAST_NEEDED = 0.75
"""Share of a pack's bytes that must be needed for the pack to be copied."""

_CHUNK = 1024 * 1024
_ARRIVING = "saltern-arriving"
_WHOLE = "whole"


class Unsuitable(Exception):
    """The packs of the remote cannot be used."""


def fetch_commit(source: pygit2.Repository, into: pygit2.Repository, needed: Collection[pygit2.Oid]) -> None:
    """Have these objects, which are all that the mirror lacks. Unsuitable, GitError, KeyError or OSError: nothing came.

    Args:
        source: the remote.
        into: the mirror.
        needed: ids.
    """
    folder = Path(into.path)
    objects = Path(source.path) / "objects"
    if (objects / "info" / "alternates").exists() or any(objects.glob("pack/*.promisor")):
        raise Unsuitable("objects are elsewhere")
    finish(folder)
    packs = folder / _ARRIVING / "pack"
    packs.mkdir(parents=True)
    try:
        names = {oid.raw for oid in needed}
        for index in sorted((objects / "pack").glob("*.idx")):
            _take(index, packs, names)
        arrived = pygit2.Odb(str(packs.parent))
        left = [oid for oid in needed if oid not in arrived]
        if len(left) > MOST_LEFT:
            raise Unsuitable("most is in no pack")
        if left:
            write_pack(source, left, packs)
        for path in packs.iterdir():
            _settle(path)
        (packs.parent / _WHOLE).touch()
    except BaseException:
        shutil.rmtree(packs.parent, ignore_errors=True)
        raise
    finish(folder)


def finish(folder: Path) -> None:
    """Step 4; also completes it in a repository where an earlier process was killed in any step."""
    arriving = folder / _ARRIVING
    if (arriving / _WHOLE).exists():
        # A pack without an index is no pack yet, and the reverse is an error: packs first, and all before any index.
        for suffix in (".pack", ".idx"):
            for path in (arriving / "pack").glob("*" + suffix):
                path.replace(folder / "objects" / "pack" / path.name)
    shutil.rmtree(arriving, ignore_errors=True)


def _take(path: Path, folder: Path, needed: Collection[bytes]) -> None:
    """Copy the pack of an index, where the sums are right and most of it is needed."""
    try:
        index = read_index(path)
        with path.with_suffix(".pack").open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if index is None or index.bytes_of(needed, size) < size * LEAST_NEEDED:
                return
            copy = folder / f"pack-{index.pack_sum.hex()}.pack"
            if _copy(file, copy) == index.pack_sum:
                copy.with_suffix(".idx").write_bytes(index.text)
            else:
                copy.unlink()
    except FileNotFoundError:
        return  # repacked meanwhile: what was in it is found in another one, or packed here


def _copy(file: IO[bytes], target: Path) -> bytes:
    """Copy a pack; the sum of what was copied, and empty where it does not end with that sum."""
    digest, last = hashlib.sha1(usedforsecurity=False), b""
    with target.open("xb") as copy:
        while chunk := file.read(_CHUNK):
            copy.write(chunk)
            digest.update((last + chunk)[:-SUM])
            last = (last + chunk)[-SUM:]
    return last if digest.digest() == last else b""


def _settle(path: Path) -> None:
    """Flush a file to the disk: libgit2 never returns from reading some that a power failure has shortened."""
    path.chmod(0o444)
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
