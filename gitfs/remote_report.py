"""What people ask about one remote: what it shows, whether its mirror is whole, how large it is.

Called by the command line, and by the controller for its metrics. Changes nothing but the mark by which the next fetch
rebuilds a mirror that is damaged.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from gitfs.config.settings import RemoteSettings
from gitfs.errors import DamagedMirror
from gitfs.mirror.maintenance import disk_bytes
from gitfs.mirror.mirror import Mirror
from gitfs.source import Trees
from gitfs.tree import objects
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.saltenvs import SaltenvSource, environments, own_saltenvs
from gitfs.tree.snapshot import Snapshot

_MOST_LOOKED_INTO = 20
"""Saltenvs whose files are looked at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """A remote and its mirror."""

    settings: RemoteSettings
    heads: Mapping[str, str]
    """Live branch -> commit."""
    tags: Mapping[str, str]
    saltenvs: Mapping[str, str]
    """Saltenv -> ref that is shown in it, for these settings alone."""
    disk_bytes: int
    packs: int
    damaged: bool
    fetched: float | None = None
    """When somebody last fetched, in seconds since the epoch; None: never."""
    left_out: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Saltenv -> path -> why it is no file there; of the first saltenvs alone, where there are many."""


def overview(mirror: Mirror, settings: RemoteSettings) -> Overview:
    """What is live of a remote. Needs no network; of a mirror that cannot be read, only its size."""
    folder = Path(mirror.path).parent
    damaged = (folder / objects.DAMAGED).exists()
    try:
        refs = mirror.refs()
        shown = environments(settings, refs, own_saltenvs(settings, refs))
        looked_into = sorted(shown, key=lambda saltenv: (saltenv != "base", saltenv))[:_MOST_LOOKED_INTO]
        found = {saltenv: _left_out(mirror, settings, shown[saltenv]) for saltenv in looked_into}
        left_out = {saltenv: paths for saltenv, paths in found.items() if paths}
    except DamagedMirror:
        return Overview(
            settings=settings, heads={}, tags={}, saltenvs={}, disk_bytes=disk_bytes(folder), packs=0, damaged=True
        )
    return Overview(
        settings=settings,
        heads=refs.heads,
        tags=refs.tags,
        saltenvs={saltenv: source.ref for saltenv, source in shown.items()},
        disk_bytes=disk_bytes(folder),
        packs=len(list(Path(mirror.path, "objects", "pack").glob("*.pack"))),
        damaged=damaged,
        fetched=last_fetch(mirror),
        left_out=left_out,
    )


def last_fetch(mirror: Mirror) -> float | None:
    """When somebody last wrote to a mirror, in seconds since the epoch; None: never."""
    try:
        return Path(mirror.path).with_name("lock").stat().st_mtime
    except OSError:
        return None


def _left_out(mirror: Mirror, settings: RemoteSettings, source: SaltenvSource) -> dict[str, str]:
    layer = GitLayer.of(mirror.path, settings.name, source.commit, source.root, source.mountpoint)
    return dict(Snapshot(environments={"base": (layer,)}).left_out())


def left_out_counts(trees: Trees) -> dict[str, int]:
    """Remote -> names that are no files in what is live of it, in `base` or the first saltenv that shows it.

    Costs next to nothing for trees whose files were listed before. A mirror that is damaged is passed over.
    """
    found: dict[str, int] = {}
    for snapshot in (trees.files, trees.pillar):
        seen: dict[str, int] = {}
        for saltenv in sorted(snapshot.environments, key=lambda saltenv: (saltenv != "base", saltenv)):
            layers = [layer for layer in snapshot.environments[saltenv] if isinstance(layer, GitLayer)]
            fresh = [layer for layer in layers if layer.remote not in seen]
            for layer in fresh:
                with suppress(OSError):
                    refused = len(objects.listing(layer.mirror, layer.tree, layer.lfs).refused)
                    seen[layer.remote] = seen.get(layer.remote, 0) + refused
        for remote, count in seen.items():
            found[remote] = found.get(remote, 0) + count
    return found


def verify(mirror: Mirror) -> list[str]:
    """Read every object that is live; what is wrong, in words. A fault makes the next fetch rebuild the mirror."""
    faults = []
    refs = mirror.refs()
    for name, commit in {**refs.tags, **refs.heads}.items():
        try:
            tree = objects.subtree(mirror.path, commit, "")
            for path, oid in objects.listing(mirror.path, tree).files.items():
                data = objects.blob(mirror.path, oid)
                if pygit2.hash(data) != pygit2.Oid(hex=oid):
                    objects.report_damage(mirror.path)
                    faults.append(f"{name}: {path} has another content than its id says")
        except DamagedMirror as error:
            faults.append(f"{name}: {error}")
    return faults
