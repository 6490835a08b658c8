"""The `gitfs.Source` of a configuration. Called by the composition root, and by verbs that read mirrors themselves."""

from __future__ import annotations

from controller.settings import Settings
from gitfs import Source, backends, file_remotes, ignored_files, pillar_remotes


def open_source(settings: Settings) -> Source:
    """The source over the mirrors in `cachedir`; nothing is fetched by opening it."""
    return Source(
        file_remotes(settings.git),
        pillar_remotes(settings.git),
        settings.cachedir / "gitfs",
        settings.git.get("file_roots"),
        settings.git.get("pillar_roots"),
        backends=backends(settings.git),
        ignored=ignored_files(settings.git),
    )
