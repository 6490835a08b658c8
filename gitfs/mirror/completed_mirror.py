"""Mirrors that bring what a commit needs beside its own objects: contents of Git LFS, and submodules.

Called by `gitfs.source`, by `gitfs.fetching.worker`, and by `gitfs.mirror.submodules` for mirrors of submodules.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from gitfs.config.settings import RemoteSettings
from gitfs.mirror.lfs import Lfs
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.ref_updates import Completion
from gitfs.mirror.submodules import Submodules

SUBMODULES = "submodules"
"""Folder of the mirrors of submodules, beside the mirrors of remotes."""


def open_mirror(settings: RemoteSettings, directory: Path, *, bases: Collection[str | None] = ()) -> Mirror:
    """The mirror of a remote, which completes its commits as the settings say. See `Mirror`."""
    return _mirror(settings, directory, submodules_of(settings, directory.parent), bases)


def submodules_of(settings: RemoteSettings, folder: Path) -> Submodules:
    """The submodules of a remote whose mirror lies in a folder."""
    return Submodules(settings, folder / SUBMODULES, _submodule_mirror)


def _submodule_mirror(settings: RemoteSettings, directory: Path, depth: int) -> Mirror:
    return _mirror(settings, directory, Submodules(settings, directory.parent, _submodule_mirror, depth))


def _mirror(
    settings: RemoteSettings, directory: Path, submodules: Submodules, bases: Collection[str | None] = ()
) -> Mirror:
    completions: list[Completion] = [Lfs(settings)] if settings.lfs else []
    if settings.submodules:
        completions.append(submodules)
    return Mirror(settings, directory, bases=bases, completions=completions)
