"""Git remotes in, immutable trees of files out. Knows nothing of Salt but its option names.

The names below are this room's public face. They load on first use, so that whoever needs
the settings alone does not pay for libgit2 or a scheduler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitfs.changes import Changes
    from gitfs.directory import DirectoryLayer, blob_id
    from gitfs.errors import (
        BadSettings,
        BadTree,
        DamagedMirror,
        FetchFailed,
        GitfsError,
        StaleSnapshot,
        UnknownRef,
    )
    from gitfs.mirror import Fetched, Mirror, Refused
    from gitfs.settings import ROOTS, RemoteSettings, file_remotes, pillar_remotes
    from gitfs.snapshot import GitLayer, Snapshot, directory_snapshot
    from gitfs.source import RemoteRevision, Revision, Source, Trees
    from gitfs.urls import canonical, redact

__all__ = [
    "ROOTS",
    "BadSettings",
    "BadTree",
    "Changes",
    "DamagedMirror",
    "DirectoryLayer",
    "FetchFailed",
    "Fetched",
    "GitLayer",
    "GitfsError",
    "Mirror",
    "Refused",
    "RemoteRevision",
    "RemoteSettings",
    "Revision",
    "Snapshot",
    "Source",
    "StaleSnapshot",
    "Trees",
    "UnknownRef",
    "blob_id",
    "canonical",
    "directory_snapshot",
    "file_remotes",
    "pillar_remotes",
    "redact",
]

_HOMES = {
    "gitfs.changes": ("Changes",),
    "gitfs.directory": ("DirectoryLayer", "blob_id"),
    "gitfs.errors": (
        "BadSettings",
        "BadTree",
        "DamagedMirror",
        "FetchFailed",
        "GitfsError",
        "StaleSnapshot",
        "UnknownRef",
    ),
    "gitfs.mirror": ("Fetched", "Mirror", "Refused"),
    "gitfs.settings": ("ROOTS", "RemoteSettings", "file_remotes", "pillar_remotes"),
    "gitfs.snapshot": ("GitLayer", "Snapshot", "directory_snapshot"),
    "gitfs.source": ("RemoteRevision", "Revision", "Source", "Trees"),
    "gitfs.urls": ("canonical", "redact"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'gitfs' has no attribute {name!r}")
