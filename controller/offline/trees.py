"""The trees of a case: folders, or commits of git remotes that are fetched for the occasion.

Called by `show` for each case and by `saltern compile --git` once. A mirror lives in a temporary folder that the
caller gives and removes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitfs.config.settings import RemoteSettings
from gitfs.errors import GitfsError
from gitfs.mirror.mirror import Mirror
from gitfs.tree.snapshot import GitLayer, Snapshot, directory_snapshot

_ENVIRONMENT = re.compile(r"([A-Za-z0-9_.-]+)=(.+)", re.DOTALL)


class TreeUnavailable(Exception):
    """A tree that cannot be had; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GitTree:
    """A folder of a commit, as `[ENV=]URL@REF[:ROOT]` names it."""

    saltenv: str
    url: str
    ref: str
    root: str = ""

    @classmethod
    def parse(cls, text: str) -> GitTree:
        """BadTree when it is not written so. The last `@` counts, since addresses have some of their own."""
        saltenv, address = environment_of(text)
        url, found, rest = address.rpartition("@")
        ref, _, root = rest.partition(":")
        if not found or not url or not ref:
            raise TreeUnavailable(
                f"{text!r}: write [ENV=]URL@REF[:ROOT], as in https://example.org/states.git@main:salt"
            )
        return cls(saltenv=saltenv, url=url, ref=ref, root=root.strip("/"))


def environment_of(text: str) -> tuple[str, str]:
    """(environment, rest) of `[ENV=]REST`; base where none is named."""
    match = _ENVIRONMENT.fullmatch(text)
    return (match[1], match[2]) if match else ("base", text)


def snapshot_of(roots: Mapping[str, Sequence[str]], git: Sequence[tuple[str, GitLayer]] = ()) -> Snapshot:
    """The tree of folders and fetched commits; in an environment that has both the folders come first."""
    layers = dict(directory_snapshot(roots).environments)
    for saltenv, layer in git:
        layers[saltenv] = (*layers.get(saltenv, ()), layer)
    return Snapshot(environments=layers)


def missing_folders(roots: Mapping[str, Sequence[str]]) -> list[str]:
    """Folders that are not there; they count as empty."""
    return [folder for folders in roots.values() for folder in folders if not Path(folder).is_dir()]


def fetch_layers(trees: Sequence[GitTree], mirrors: Path) -> list[tuple[str, GitLayer]]:
    """(environment, layer) of each tree; each repository is fetched once. BadTree when one cannot be had."""
    found: list[tuple[str, GitLayer]] = []
    fetched: dict[str, Mirror] = {}
    for tree in trees:
        try:
            if tree.url not in fetched:
                settings = RemoteSettings(name=tree.url, url=_absolute(tree.url))
                fetched[tree.url] = Mirror(settings, mirrors / str(len(fetched)))
                fetched[tree.url].fetch()
            mirror = fetched[tree.url]
            commit = mirror.commit_of(tree.ref)
            layer = GitLayer.of(mirror.path, tree.url, commit, tree.root)
        except GitfsError as error:
            raise TreeUnavailable(str(error)) from error
        if not layer.tree:
            raise TreeUnavailable(f"{tree.url}@{tree.ref} has no folder {tree.root!r}")
        found.append((tree.saltenv, layer))
    return found


def _absolute(url: str) -> str:
    """A remote that is a folder may be named relative to where we are."""
    return str(Path(url).absolute()) if "://" not in url and Path(url).exists() else url
