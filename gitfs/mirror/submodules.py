"""Submodules at the commits that are recorded: mirrored beside the parent, and shown as layers of their own.

Called by `gitfs.mirror.ref_updates` (before a commit goes live) and `gitfs.source` (when trees are made, without any
network).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pygit2

from gitfs.config.settings import RemoteSettings
from gitfs.errors import BadTree, FetchFailed
from gitfs.mirror.mirror import Mirror
from gitfs.tree import objects
from gitfs.tree.gitlinks import Gitlink, gitlinks
from gitfs.tree.saltenvs import SaltenvSource
from gitfs.tree.snapshot import GitLayer

MOST_DEPTH = 5
"""Submodules of submodules."""


class Submodules:
    """The submodules of one repository.

    Args:
        parent: settings of the repository.
        directory: where mirrors of submodules lie, those of all parents side by side.
        make_mirror: makes the mirror of a submodule, which completes its own commits.
        depth: how many parents this repository has.
    """

    writes = False

    def __init__(
        self,
        parent: RemoteSettings,
        directory: Path,
        make_mirror: Callable[[RemoteSettings, Path, int], Mirror],
        depth: int = 0,
    ) -> None:
        self._parent = parent
        self._directory = directory
        self._make_mirror = make_mirror
        self._depth = depth
        self._mirrors: dict[str, Mirror] = {}
        self._links: dict[str, tuple[Gitlink, ...]] = {}

    def complete(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Have every submodule of a commit in its mirror; why that is not so, or None."""
        try:
            links = gitlinks(repository, commit, self._parent)
            if links and self._depth >= MOST_DEPTH:
                return f"submodules are nested deeper than {MOST_DEPTH}"
            for link in links:
                self._mirror(link.settings).fetch_commit(link.commit)
        except BadTree as error:
            return f"{error}; `submodules: false` leaves them out"
        except FetchFailed as error:
            return f"submodule {error}; `submodules: false` leaves them out"
        return None

    def needed(self, mirror: str, commits: Iterable[str], found: dict[str, tuple[Mirror, set[str]]]) -> None:
        """Add what these commits need of submodules, and those of theirs: path of a mirror -> (mirror, commits)."""
        for commit in commits:
            links: tuple[Gitlink, ...] = ()
            with suppress(BadTree):  # it was refused, and nothing was brought for it
                links = self._links_of(mirror, commit)
            for link in links:
                own = self._mirror(link.settings)
                _, pins = found.setdefault(own.path, (own, set()))
                if link.commit not in pins and self._depth < MOST_DEPTH:
                    pins.add(link.commit)
                    deeper = Submodules(link.settings, self._directory, self._make_mirror, self._depth + 1)
                    if own.has(link.commit):
                        deeper.needed(own.path, [link.commit], found)

    def layers(self, mirror: str, source: SaltenvSource) -> list[GitLayer]:
        """What the submodules add to a source, nested ones too."""
        return [layer for link in self._links_of(mirror, source.commit) for layer in self._layers_of(link, source)]

    def _links_of(self, mirror: str, commit: str) -> tuple[Gitlink, ...]:
        if commit not in self._links:
            self._links[commit] = objects.reading(mirror, lambda repository: gitlinks(repository, commit, self._parent))
        return self._links[commit]

    def _layers_of(self, link: Gitlink, source: SaltenvSource) -> list[GitLayer]:
        shown = _seen_from(link.path, source)
        if shown is None or self._depth >= MOST_DEPTH:
            return []
        inner = replace(shown, commit=link.commit)
        mirror = self._mirror(link.settings)
        layer = GitLayer.of(
            mirror.path, link.settings.name, inner.commit, inner.root, inner.mountpoint, lfs=link.settings.lfs
        )
        deeper = Submodules(link.settings, self._directory, self._make_mirror, self._depth + 1)
        return [layer, *deeper.layers(mirror.path, inner)]

    def _mirror(self, settings: RemoteSettings) -> Mirror:
        if settings.url not in self._mirrors:
            what = "\0".join((settings.url, settings.user, settings.privkey))
            key = hashlib.sha256(what.encode()).hexdigest()[:20]
            self._mirrors[settings.url] = self._make_mirror(settings, self._directory / key, self._depth + 1)
        return self._mirrors[settings.url]


def _seen_from(path: str, source: SaltenvSource) -> SaltenvSource | None:
    """The source with root and mountpoint as they are for a submodule at `path`; None when it is not seen there."""
    root = source.root
    if root == path or root.startswith(path + "/"):
        return replace(source, root=root[len(path) + 1 :])
    if root and not path.startswith(root + "/"):
        return None
    inner = path[len(root) + 1 :] if root else path
    return replace(source, root="", mountpoint="/".join(filter(None, (source.mountpoint, inner))))
