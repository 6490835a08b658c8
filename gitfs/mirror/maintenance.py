"""Bounds the size of the mirrors of all remotes and of their submodules, and measures it.

Objects are dropped in a worker process (`gitfs.fetching.worker`), one at a time for a folder: a pack that is cut off
while it is read ends the process. `gitfs.source` calls the functions that read no objects. Objects that a fetch or a
reader may still need stay: see `gitfs.mirror.gc`. This module decides which commits of submodules and which whole
mirrors are no longer needed.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from gitfs.errors import FetchFailed
from gitfs.mirror.completed_mirror import SUBMODULES
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.mirror_store import MirrorStore
from gitfs.mirror.submodules import Submodules

PIN_SECONDS = 3600.0
"""Seconds for which a commit of a submodule stays after its fetch: its parent may be about to go live."""
UNUSED_SECONDS = 30 * 24 * 3600.0
"""Seconds without a fetch after which the mirror of a remote that is no longer configured is removed."""

InUse = Callable[[str], Collection[str]]
"""Path of a mirror -> commits that snapshots in use show of it."""


class MirrorMaintenance:
    """Garbage collection of the mirrors in one folder.

    Args:
        folder: where they lie, each under its key.
        mirrors: key -> mirror of what is configured.
        submodules: key -> its submodules, whose mirrors lie in `submodules` below the folder.
        in_use: see `InUse`. It is asked for a mirror before objects of this mirror are read.
    """

    def __init__(
        self, folder: Path, mirrors: Mapping[str, Mirror], submodules: Mapping[str, Submodules], in_use: InUse
    ) -> None:
        self._folder = folder
        self._mirrors = mirrors
        self._submodules = submodules
        self._in_use = in_use

    def gc(self) -> list[str]:
        """Collect garbage where that is worth it; names of the remotes whose mirrors were repacked."""
        done = [mirror.settings.name for mirror in self._mirrors.values() if self._collect(mirror)]
        if _submodules_need_gc(self._folder):
            done += self._gc_submodules()
        return done

    def _collect(self, mirror: Mirror) -> bool:
        with suppress(FetchFailed):  # the next fetch reports the error
            return mirror.gc(lambda: self._in_use(mirror.path))
        return False

    def _gc_submodules(self) -> list[str]:
        before = time.time() - PIN_SECONDS
        needed: dict[str, tuple[Mirror, set[str]]] = {}
        for key, submodules in self._submodules.items():
            path = self._mirrors[key].path
            in_use = self._in_use(path)
            submodules.needed(path, {*self._mirrors[key].held(), *in_use}, needed)
        done = []
        for path, (mirror, commits) in needed.items():
            with suppress(FetchFailed):
                mirror.unpin({*commits, *self._in_use(path)}, before)
                if self._collect(mirror):
                    done.append(mirror.settings.name)
        for mirror in self._mirrors.values():
            with suppress(FetchFailed):
                mirror.forget()  # what a commit had may be gone: it is looked for again when it is to go live
        remove_unused(self._folder / SUBMODULES, {Path(path).parent.name for path in needed})
        return done


def needs_gc(folder: Path, mirrors: Mapping[str, Mirror]) -> bool:
    """Whether garbage collection of these mirrors or of submodules is worth it; only reads sizes of files."""
    return any(mirror.needs_gc() for mirror in mirrors.values()) or _submodules_need_gc(folder)


def mirror_sizes(folder: Path, mirrors: Mapping[str, Mirror]) -> dict[str, int]:
    """Remote -> bytes of its mirror, with all that is unpacked of it; `submodules`: of all submodules together."""
    found = {mirror.settings.name: disk_bytes(folder / key) for key, mirror in mirrors.items()}
    if any(_folders(folder / SUBMODULES)):
        found["submodules"] = disk_bytes(folder / SUBMODULES)
    return found


def disk_bytes(folder: Path) -> int:
    """Bytes of all files below a folder."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += Path(top, name).lstat().st_size
    return total


def _folders(folder: Path) -> list[Path]:
    return [path.parent for path in folder.glob("*/lock")] if folder.is_dir() else []


def _submodules_need_gc(folder: Path) -> bool:
    return any(MirrorStore(each).needs_gc() for each in _folders(folder / SUBMODULES))


def remove_unused(folder: Path, known: Collection[str]) -> None:
    """Remove mirrors that are not configured and were not written to for long.

    Args:
        folder: where the mirrors lie.
        known: names of the folders of those that settings lead to.
    """
    for path in _folders(folder):
        with suppress(OSError):
            if path.name not in known and (path / "lock").stat().st_mtime < time.time() - UNUSED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
