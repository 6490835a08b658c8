"""Which remotes are the same repository, under the same policy, and so share a mirror. Called by `gitfs.source`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from gitfs.config.live_policy import LivePolicy
from gitfs.config.settings import RemoteSettings
from gitfs.config.urls import canonical
from gitfs.errors import BadRemoteSettings
from gitfs.fetching.worker import MirrorSpec
from gitfs.limits import GitLimits
from gitfs.mirror.completed_mirror import open_mirror
from gitfs.mirror.mirror import Mirror
from gitfs.tree.saltenvs import pinned_refs


def open_mirrors(specs: Mapping[str, MirrorSpec], limits: GitLimits | None) -> dict[str, Mirror]:
    """The mirrors of repositories, by the key of each."""
    return {
        key: open_mirror(spec.settings, spec.directory, bases=spec.bases, limits=limits) for key, spec in specs.items()
    }


def spec_of(group: Sequence[RemoteSettings], directory: Path, limits: GitLimits) -> MirrorSpec:
    """What the mirror is made of that these settings of one repository share."""
    quickest = min(settings.update_interval for settings in group)
    bases = tuple(name for each in group for name in pinned_refs(each))
    settings = replace(group[0], update_interval=quickest)
    return MirrorSpec(settings=settings, directory=directory, bases=bases, limits=limits)


@cache
def repository_key(settings: RemoteSettings) -> str:
    """Folder of a repository's mirror: readable, and different for another address, user or policy."""
    what = "\0".join((settings.url, settings.user, settings.privkey, str(settings.policy.allow_rewind)))
    # What else decides what is fetched and what goes live; nothing is added for the defaults.
    others = ("policy", "refspecs", "pull_requests", "submodules", "lfs", "submodule_hosts")
    plain = RemoteSettings(name="x", url="/x", policy=LivePolicy(allow_rewind=settings.policy.allow_rewind))
    what += "".join(
        f"\0{name}={value!r}" for name in others if (value := getattr(settings, name)) != getattr(plain, name)
    )
    readable = re.sub(r"[^A-Za-z0-9]+", "-", canonical(settings.url)).strip("-")[-40:]
    return f"{readable}-{hashlib.sha256(what.encode()).hexdigest()[:12]}"


def by_repository(all_settings: Sequence[RemoteSettings]) -> dict[str, list[RemoteSettings]]:
    """Remotes by the key of their repository. BadRemoteSettings when two addresses have one name."""
    groups: dict[str, list[RemoteSettings]] = {}
    urls: dict[str, str] = {}
    for settings in all_settings:
        if urls.setdefault(settings.name, settings.url) != settings.url:
            raise BadRemoteSettings(f"two remotes are named {settings.name!r}; give one of them another `name`")
        groups.setdefault(repository_key(settings), []).append(settings)
    return groups
