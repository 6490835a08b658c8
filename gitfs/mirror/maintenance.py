"""Keeps the mirrors of all remotes and of their submodules from growing without bound, and says how large they are.

Called by `gitfs.source` after fetches, in one thread at a time. What a fetch or a reader may still need stays: see
`gitfs.mirror.gc` for objects; here it is decided which commits of submodules and which whole mirrors nobody needs.
"""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from pathlib import Path

from gitfs.errors import FetchFailed
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.mirror_store import MirrorStore
from gitfs.mirror.submodules import Submodules

PIN_SECONDS = 3600.0
"""So long a commit of a submodule stays after it was brought, whoever needs it: its parent may be about to go live."""
UNUSED_SECONDS = 30 * 24 * 3600.0
"""After so long without a fetch, the mirror of a remote that is configured no more goes."""

InUse = Callable[[str], Collection[str]]
"""Path of a mirror -> commits that snapshots in use show of it."""


class MirrorMaintenance:
    """The mirrors in one folder.

    Args:
        folder: where they lie, each under its key.
        mirrors: key -> mirror of what is configured.
        submodules: key -> its submodules, whose mirrors lie in `submodules` below the folder.
        in_use: see `InUse`.
    """

    def __init__(
        self, folder: Path, mirrors: Mapping[str, Mirror], submodules: Mapping[str, Submodules], in_use: InUse
    ) -> None:
        self._folder = folder
        self._mirrors = mirrors
        self._submodules = submodules
        self._in_use = in_use

    def gc(self) -> list[str]:
        """Drop what nobody needs, where that is worth it; names of the remotes that were tidied."""
        done = [mirror.settings.name for mirror in self._mirrors.values() if self._collect(mirror)]
        below = self._folder / "submodules"
        if any(MirrorStore(folder).needs_gc() for folder in _folders(below)):
            done += self._gc_submodules()
        _forget_unused(self._folder, {*self._mirrors, below.name})
        return done

    def disk_bytes(self) -> dict[str, int]:
        """Remote -> bytes of its mirror, with all that is unpacked of it; `submodules`: of all submodules together."""
        found = {mirror.settings.name: disk_bytes(self._folder / key) for key, mirror in self._mirrors.items()}
        if any(_folders(self._folder / "submodules")):
            found["submodules"] = disk_bytes(self._folder / "submodules")
        return found

    def _collect(self, mirror: Mirror) -> bool:
        with suppress(FetchFailed):  # the next fetch says what is wrong with it
            return mirror.gc(lambda: self._in_use(mirror.path))
        return False

    def _gc_submodules(self) -> list[str]:
        before = time.time() - PIN_SECONDS
        needed: dict[str, tuple[Mirror, set[str]]] = {}
        for key, submodules in self._submodules.items():
            path = self._mirrors[key].path
            submodules.needed(path, {*self._mirrors[key].held(), *self._in_use(path)}, needed)
        done = []
        for path, (mirror, commits) in needed.items():
            with suppress(FetchFailed):
                mirror.unpin({*commits, *self._in_use(path)}, before)
                if self._collect(mirror):
                    done.append(mirror.settings.name)
        for mirror in self._mirrors.values():
            with suppress(FetchFailed):
                mirror.forget()  # what a commit had may be gone: it is looked for again when it is to go live
        _forget_unused(self._folder / "submodules", {Path(path).parent.name for path in needed})
        return done


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


def _forget_unused(folder: Path, known: Collection[str]) -> None:
    """Remove mirrors that no settings lead to, and that nobody has written to for long."""
    for path in _folders(folder):
        with suppress(OSError):
            if path.name not in known and (path / "lock").stat().st_mtime < time.time() - UNUSED_SECONDS:
                shutil.rmtree(path, ignore_errors=True)
