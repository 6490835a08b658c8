"""Mirrors that also fetch contents of Git LFS and submodules of a commit.

Called by `gitfs.source`, by `gitfs.fetching.worker`, and by `gitfs.mirror.submodules` for mirrors of submodules.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gitfs.config.settings import RemoteSettings
from gitfs.limits import GitLimits
from gitfs.mirror.lfs import Lfs
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.ref_updates import Completion
from gitfs.mirror.submodules import Submodules
from options.limits import CountRefusal, uncounted

SUBMODULES = "submodules"
"""Folder of the mirrors of submodules, beside the mirrors of remotes."""


def open_mirror(
    settings: RemoteSettings,
    directory: Path,
    *,
    bases: Collection[str | None] = (),
    limits: GitLimits | None = None,
    on_refusal: CountRefusal = uncounted,
) -> Mirror:
    """The mirror of a remote, with Git LFS and submodules as its settings say. See `Mirror`."""
    return _Making(limits or GitLimits(), on_refusal).remote(settings, directory, bases)


def open_submodule_mirror(settings: RemoteSettings, directory: Path, limits: GitLimits) -> Mirror:
    """The mirror of a submodule of a remote, in a folder with those of all others."""
    return _Making(limits, uncounted).submodule(settings, directory, 1, settings.url)


def submodules_of(settings: RemoteSettings, folder: Path, limits: GitLimits | None = None) -> Submodules:
    """The submodules of a remote whose mirror lies in a folder."""
    return _Making(limits or GitLimits(), uncounted).submodules(settings, folder / SUBMODULES, 0)


@dataclass(frozen=True, slots=True)
class _Making:
    """What all mirrors below one remote have in common."""

    limits: GitLimits
    on_refusal: CountRefusal

    def remote(self, settings: RemoteSettings, directory: Path, bases: Collection[str | None]) -> Mirror:
        return self._mirror(settings, directory, self.submodules(settings, directory.parent / SUBMODULES, 0), bases)

    def submodules(self, settings: RemoteSettings, directory: Path, depth: int) -> Submodules:
        return Submodules(settings, directory, self.submodule, depth, self.limits)

    def submodule(self, settings: RemoteSettings, directory: Path, depth: int, parent: str) -> Mirror:
        submodules = self.submodules(settings, directory.parent, depth)
        return self._mirror(settings, directory, submodules, submodule_of=parent)

    def _mirror(
        self,
        settings: RemoteSettings,
        directory: Path,
        submodules: Submodules,
        bases: Collection[str | None] = (),
        *,
        submodule_of: str | None = None,
    ) -> Mirror:
        completions: list[Completion] = [Lfs(settings, self.limits, submodule_of)] if settings.lfs else []
        if settings.submodules:
            completions.append(submodules)
        return Mirror(
            settings,
            directory,
            bases=bases,
            completions=completions,
            limits=self.limits,
            on_refusal=self.on_refusal,
            submodule_of=submodule_of,
        )
