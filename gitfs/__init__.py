"""Git remotes in, immutable trees of files out. Knows nothing of Salt but its option names.

The names below are this room's public face. They load on first use, so that whoever needs
the settings alone does not pay for libgit2 or a scheduler.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gitfs.acceptance import Refused
    from gitfs.changes import Changes
    from gitfs.configuration import backends, file_remotes, ignored_files, pillar_includes, pillar_remotes
    from gitfs.differences import changed_paths
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
    from gitfs.mirror import Fetched, Mirror
    from gitfs.policy import LivePolicy, SignedBy
    from gitfs.settings import GIT, ROOTS, Ignored, PerSaltenv, RemoteSettings
    from gitfs.snapshot import GitLayer, Snapshot, directory_snapshot
    from gitfs.source import RemoteRevision, Revision, Source, Trees
    from gitfs.urls import canonical, redact

__all__ = [
    "GIT",
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
    "Ignored",
    "LivePolicy",
    "Mirror",
    "PerSaltenv",
    "Refused",
    "RemoteRevision",
    "RemoteSettings",
    "Revision",
    "SignedBy",
    "Snapshot",
    "Source",
    "StaleSnapshot",
    "Trees",
    "UnknownRef",
    "backends",
    "blob_id",
    "canonical",
    "changed_paths",
    "directory_snapshot",
    "file_remotes",
    "ignored_files",
    "pillar_includes",
    "pillar_remotes",
    "redact",
]

_HOMES = {
    "gitfs.acceptance": ("Refused",),
    "gitfs.changes": ("Changes",),
    "gitfs.configuration": ("backends", "file_remotes", "ignored_files", "pillar_includes", "pillar_remotes"),
    "gitfs.differences": ("changed_paths",),
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
    "gitfs.mirror": ("Fetched", "Mirror"),
    "gitfs.policy": ("LivePolicy", "SignedBy"),
    "gitfs.settings": ("GIT", "ROOTS", "Ignored", "PerSaltenv", "RemoteSettings"),
    "gitfs.snapshot": ("GitLayer", "Snapshot", "directory_snapshot"),
    "gitfs.source": ("RemoteRevision", "Revision", "Source", "Trees"),
    "gitfs.urls": ("canonical", "redact"),
}


def __getattr__(name: str) -> object:
    for module, names in _HOMES.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module 'gitfs' has no attribute {name!r}")
