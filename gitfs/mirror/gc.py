"""Repacks the objects of a mirror that are still needed, and drops the others.

Called by `gitfs.mirror.mirror`, which holds the lock. Needed are objects that a ref reaches, with the whole history,
and those of snapshots in use; of the contents of Git LFS, those that the trees of these commits point to, without their
history. Readers go on: an object is in the new pack before it leaves the old ones.

1. Find the needed objects, and shorten the list of LFS contents to them.
2. Large packs of which all is needed stay, as to pack them anew takes long; a new pack of the rest is written beside.
3. `<repository>/saltern-expired` names them: from here on, the next process after a kill finishes the rest.
4. The other packs and single objects go, then the names.
"""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from gitfs.mirror.packs import read_index, write_pack
from gitfs.tree.lfs_index import drop_parts, keep_lfs_contents, lfs_contents

LEAST_KEPT = 8 * 1024 * 1024
"""Bytes of a pack from which on it may stay as it is; it must also be a quarter of all packs."""

_MARK = "saltern-expired"
_END = "end"
"""Last line of a list of packs: a list without it was cut off by a power failure, and does not count."""


def expire(repository: pygit2.Repository, refs: Iterable[str], in_use: Iterable[str]) -> None:
    """Drop objects that neither a ref nor a commit in use reaches.

    GitError, KeyError or OSError when something that is needed cannot be read or the disk is full: nothing is dropped.
    """
    folder = Path(repository.path)
    kept = {pygit2.Oid(hex=oid) for oid in (*refs, *(oid for oid in in_use if oid in repository))}
    shown, needed = _reached(repository, kept)
    contents = {
        pointer: oid for pointer, oid in lfs_contents(repository.path).items() if pygit2.Oid(hex=pointer) in shown
    }
    keep_lfs_contents(folder, contents)
    drop_parts(repository.path)
    needed.update(pygit2.Oid(hex=oid) for oid in contents.values())
    names, within = _whole_packs(folder / "objects" / "pack", {oid.raw for oid in needed})
    if rest := [oid for oid in needed if oid.raw not in within]:
        names.append(_repack(repository, rest))
    (folder / _MARK).write_text("\n".join([*names, _END]), encoding="ascii")
    finish(folder)


def _whole_packs(folder: Path, needed: Collection[bytes]) -> tuple[list[str], set[bytes]]:
    """Names of the large packs whose objects are all needed, and these objects."""
    sizes = {path: path.stat().st_size for path in folder.glob("*.pack")}
    least = max(LEAST_KEPT, sum(sizes.values()) / 4)
    names, within = list[str](), set[bytes]()
    for path, size in sizes.items():
        index = read_index(path.with_suffix(".idx")) if size >= least else None
        if index is not None and all(oid in needed for oid in index.ids()):
            names.append(path.stem)
            within.update(index.ids())
    return names, within


def _repack(repository: pygit2.Repository, needed: Collection[pygit2.Oid]) -> str:
    """Write one pack of these objects beside the others; its name, which may be that of a pack that exists."""
    folder = Path(repository.path)
    beside = folder / "saltern-pack"
    shutil.rmtree(beside, ignore_errors=True)
    beside.mkdir()
    write_pack(repository, needed, beside, threads=0)
    (pack,) = beside.glob("*.pack")
    for path in (pack, pack.with_suffix(".idx")):  # in this order, as a pack without an index is no pack yet
        path.replace(folder / "objects" / "pack" / path.name)
    beside.rmdir()
    return pack.stem


def finish(folder: Path) -> None:
    """Step 4; completes it in a repository where an earlier process was killed during it."""
    mark = folder / _MARK
    with suppress(FileNotFoundError):
        kept = mark.read_text(encoding="ascii").split()
        packs = folder / "objects" / "pack"
        if kept[-1:] == [_END] and all(
            (packs / f"{name}{suffix}").exists() for name in kept[:-1] for suffix in (".pack", ".idx")
        ):
            for index in packs.glob("*.idx"):
                if index.stem not in kept:
                    index.unlink(missing_ok=True)  # first: a pack without an index is no pack, the reverse is an error
                    index.with_suffix(".pack").unlink(missing_ok=True)
            for single in (folder / "objects").glob("[0-9a-f][0-9a-f]/*"):
                single.unlink(missing_ok=True)
        mark.unlink()


def _reached(repository: pygit2.Repository, roots: Collection[pygit2.Oid]) -> tuple[set[pygit2.Oid], set[pygit2.Oid]]:
    """(objects in the trees of the roots, these and all objects of the history)."""
    commits: list[pygit2.Oid] = []
    found: set[pygit2.Oid] = set()
    for oid in roots:
        while repository.odb.read_header(oid)[0] == ObjectType.TAG:
            found.add(oid)
            oid = pygit2.Oid(hex=str(repository[oid].peel(pygit2.Tag).target))
        if repository.odb.read_header(oid)[0] == ObjectType.COMMIT:
            commits.append(oid)
            _add_tree(repository, repository[oid].peel(pygit2.Commit).tree_id, found)
        else:
            found.add(oid)
    shown = set(found)
    while commits:
        oid = commits.pop()
        if oid not in found:
            found.add(oid)
            commit = repository[oid].peel(pygit2.Commit)
            _add_tree(repository, commit.tree_id, found)
            commits.extend(parent for parent in commit.parent_ids if parent in repository)  # a shallow remote's end
    return shown, found


def _add_tree(repository: pygit2.Repository, tree: pygit2.Oid, found: set[pygit2.Oid]) -> None:
    """A tree and all objects below it; trees that were seen before are skipped."""
    waiting = [tree]
    while waiting:
        oid = waiting.pop()
        if oid in found:
            continue
        found.add(oid)
        for entry in repository[oid].peel(pygit2.Tree):
            if (kind := entry.type) == ObjectType.TREE:
                waiting.append(entry.id)
            elif kind != ObjectType.COMMIT:
                found.add(entry.id)
