"""The trees of a case: folders, or commits of git remotes that are fetched for the occasion.

Called by `show` for each case and by `saltern compile --git` once. A mirror lives in a temporary folder that the
caller gives and removes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, wait
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from gitfs.config.settings import RemoteSettings
from gitfs.errors import FetchFailed, GitfsError
from gitfs.fetching.fetcher import Fetcher
from gitfs.fetching.worker import MirrorSpec
from gitfs.mirror.mirror import Mirror
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.snapshot import Snapshot, directory_snapshot

FETCH_SECONDS = 600.0
"""Until the repositories of one compile must have come."""

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
        """TreeUnavailable when it is not written so. The last `@` counts, since addresses have some of their own."""
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


def fetch_layers(
    trees: Sequence[GitTree], mirrors: Path, patience: float = FETCH_SECONDS
) -> list[tuple[str, GitLayer]]:
    """(environment, layer) of each tree; each repository is fetched once. TreeUnavailable when one cannot be had.

    Args:
        trees: as they are named.
        mirrors: folder for what is fetched.
        patience: seconds until all repositories must have come.
    """
    urls = dict.fromkeys(tree.url for tree in trees)
    try:
        specs = {url: _mirror_spec(url, mirrors / str(number)) for number, url in enumerate(urls)}
        opened = {url: Mirror(spec.settings, spec.directory) for url, spec in specs.items()}
        _fetch(opened, specs, patience)
        return [(tree.saltenv, _layer(tree, opened[tree.url])) for tree in trees]
    except GitfsError as error:
        raise TreeUnavailable(error.for_operator) from error


def _mirror_spec(url: str, directory: Path) -> MirrorSpec:
    settings = RemoteSettings(name=url, url=_absolute(url), lfs=False, submodules=False)
    return MirrorSpec(settings=settings, directory=directory, bases=())


def _fetch(mirrors: Mapping[str, Mirror], specs: Mapping[str, MirrorSpec], patience: float) -> None:
    """Fetch the mirrors, in workers that are gone afterwards; FetchFailed for the first that failed."""
    with closing(Fetcher(mirrors, specs)) as fetcher:
        fetches = {url: fetcher.fetch(url) for url in mirrors}
        wait(fetches.values(), timeout=patience, return_when=FIRST_EXCEPTION)
        for fetch in fetches.values():
            if fetch.done():
                fetch.result()
        for url, fetch in fetches.items():
            if not fetch.done():
                raise FetchFailed(url, f"it has not answered in {patience:g} s", retryable=True)


def _layer(tree: GitTree, mirror: Mirror) -> GitLayer:
    layer = GitLayer.of(mirror.path, tree.url, mirror.commit_of(tree.ref), tree.root)
    if not layer.tree:
        raise TreeUnavailable(f"{tree.url}@{tree.ref} has no folder {tree.root!r}")
    return layer


def _absolute(url: str) -> str:
    """A remote that is a folder may be named relative to where we are."""
    return str(Path(url).absolute()) if "://" not in url and Path(url).exists() else url
