"""Submodules at their recorded commits: mirrored beside the parent, and served as layers of the tree.

Called by `gitfs.mirror.ref_updates` (before a commit goes live) and `gitfs.source` (when trees are made, without any
network).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pygit2

from gitfs.config.settings import RemoteSettings
from gitfs.config.submodule_hosts import address_fault
from gitfs.errors import BadTree, FetchFailed
from gitfs.limits import GitLimits
from gitfs.mirror.back_off import BackOff
from gitfs.mirror.mirror import Mirror
from gitfs.tree import objects
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.gitlinks import Gitlink, gitlinks
from gitfs.tree.saltenvs import SaltenvSource


class Submodules:
    """The submodules of one repository.

    Args:
        parent: settings of the repository.
        directory: holds the mirrors of the submodules of all parents.
        make_mirror: makes the mirror of a submodule of the URL at the end; it fetches its own LFS contents and
            submodules.
        depth: how many parents this repository has.
        limits: see there.
    """

    in_repository = False

    def __init__(
        self,
        parent: RemoteSettings,
        directory: Path,
        make_mirror: Callable[[RemoteSettings, Path, int, str], Mirror],
        depth: int = 0,
        limits: GitLimits | None = None,
    ) -> None:
        self._parent = parent
        self._directory = directory
        self._make_mirror = make_mirror
        self._depth = depth
        self._limits = limits or GitLimits()
        self._mirrors: dict[str, Mirror] = {}
        self._links: dict[str, tuple[Gitlink, ...]] = {}

    def is_there(self, repository: pygit2.Repository, commit: str) -> bool:
        """See `Completion`: whether every submodule of a commit is in its mirror."""
        return all(self._mirror(link.settings).is_ready(link.commit) for link in self._wanted(repository, commit))

    def is_damaged(self) -> bool:
        """See `Completion`."""
        return any(self._directory.glob(f"*/{objects.DAMAGED}"))

    def bring(self, repository: pygit2.Repository, commit: str) -> str | None:
        """See `Completion`."""
        for link in self._wanted(repository, commit):
            mirror = self._mirror(link.settings)
            back_off = BackOff(Path(mirror.path).with_name("failed"))
            if failure := back_off.failure():
                return f"submodule {failure}; `submodules: false` leaves it out"
            began = time.monotonic()
            if fault := address_fault(link.settings.url, self._parent.url, self._parent.submodule_hosts):
                return f"submodule {link.settings.name}: {fault}"
            try:
                mirror.fetch_commit(link.commit)
            except FetchFailed as error:
                back_off.failed(str(error), time.monotonic() - began)
                return f"submodule {error}; `submodules: false` leaves it out"
            back_off.succeeded()
        return None

    def store(self, repository: pygit2.Repository, commit: str) -> str | None:
        """See `Completion`: mirrors of submodules are written as they come."""
        return None

    def _wanted(self, repository: pygit2.Repository, commit: str) -> tuple[Gitlink, ...]:
        """The submodules of a commit; BadTree where they may not be had."""
        try:
            links = gitlinks(repository, commit, self._parent, self._limits.submodules)
        except BadTree as error:
            raise BadTree(f"{error}; `submodules: false` leaves them out", error.limit) from None
        if links and self._depth >= self._limits.submodule_depth:
            raise BadTree(f"submodules are nested deeper than {self._limits.submodule_depth}", "submodule-depth")
        return links

    def needed(self, mirror: str, commits: Iterable[str], found: dict[str, tuple[Mirror, set[str]]]) -> None:
        """Add what these commits need of submodules, and those of theirs: path of a mirror -> (mirror, commits)."""
        for commit in commits:
            links: tuple[Gitlink, ...] = ()
            with suppress(BadTree):  # it was refused, and nothing was fetched for it
                links = self._links_of(mirror, commit)
            for link in links:
                own = self._mirror(link.settings)
                _, pins = found.setdefault(own.path, (own, set()))
                if link.commit not in pins and self._depth < self._limits.submodule_depth:
                    pins.add(link.commit)
                    deeper = Submodules(
                        link.settings, self._directory, self._make_mirror, self._depth + 1, self._limits
                    )
                    if own.has(link.commit):
                        deeper.needed(own.path, [link.commit], found)

    def layers(self, mirror: str, source: SaltenvSource) -> list[GitLayer]:
        """What the submodules add to a source, nested ones too."""
        return [layer for link in self._links_of(mirror, source.commit) for layer in self._layers_of(link, source)]

    def _links_of(self, mirror: str, commit: str) -> tuple[Gitlink, ...]:
        if commit not in self._links:
            self._links[commit] = objects.reading(
                mirror, lambda each: gitlinks(each, commit, self._parent, self._limits.submodules)
            )
        return self._links[commit]

    def _layers_of(self, link: Gitlink, source: SaltenvSource) -> list[GitLayer]:
        shown = _seen_from(link.path, source)
        if shown is None or self._depth >= self._limits.submodule_depth:
            return []
        inner = replace(shown, commit=link.commit)
        mirror = self._mirror(link.settings)
        layer = GitLayer.of(
            mirror.path, link.settings.name, inner.commit, inner.root, inner.mountpoint, lfs=link.settings.lfs
        )
        deeper = Submodules(link.settings, self._directory, self._make_mirror, self._depth + 1, self._limits)
        return [layer, *deeper.layers(mirror.path, inner)]

    def _mirror(self, settings: RemoteSettings) -> Mirror:
        if settings.url not in self._mirrors:
            what = "\0".join((settings.url, settings.user, settings.privkey))
            key = hashlib.sha256(what.encode()).hexdigest()[:20]
            self._mirrors[settings.url] = self._make_mirror(
                settings, self._directory / key, self._depth + 1, self._parent.url
            )
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
