"""Which paths two snapshots do not have alike, found by comparing trees: what is equal is never looked into.

Called by whoever wants to know what a push touches. Falls back to comparing whole listings where a path may stand for
another one (symlinks) or where the layers themselves are others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitfs.tree import objects
from gitfs.tree.snapshot import GitLayer, Layer, Snapshot, layer_key


def changed_paths(old: Snapshot, new: Snapshot) -> Mapping[str, tuple[str, ...]]:
    """Saltenv -> paths that came, went or have another content, sorted; environments that are alike are left out."""
    found = {}
    for saltenv in sorted({*old.environments, *new.environments}):
        if paths := _changed(old, new, saltenv):
            found[saltenv] = tuple(sorted(paths))
    return found


def _changed(old: Snapshot, new: Snapshot, saltenv: str) -> set[str]:
    before, after = old.environments.get(saltenv, ()), new.environments.get(saltenv, ())
    if [layer_key(each) for each in before] == [layer_key(each) for each in after] and old.ignored == new.ignored:
        return set()
    if not _comparable(before, after) or old.ignored != new.ignored:
        return _by_listing(old, new, saltenv)
    candidates = {path for pair in zip(before, after, strict=True) for path in _differing(*pair)}
    return {
        path
        for path in candidates
        if not new.ignored.matches(path) and _effective(before, path) != _effective(after, path)
    }


def _comparable(before: Sequence[Layer], after: Sequence[Layer]) -> bool:
    """Whether these are the same layers at other commits, with no symlink in them."""
    if [_slot(each) for each in before] != [_slot(each) for each in after]:
        return False
    return not any(
        isinstance(each, GitLayer) and (each.lfs or objects.has_links(each.mirror, each.tree))
        for each in (*before, *after)
    )


def _slot(layer: Layer) -> tuple[str, ...]:
    if isinstance(layer, GitLayer):
        return layer.mirror, layer.remote, layer.root, layer.mountpoint
    return ("directory", layer.path)


def _differing(before: Layer, after: Layer) -> set[str]:
    if isinstance(before, GitLayer) and isinstance(after, GitLayer):
        prefix = f"{after.mountpoint}/" if after.mountpoint else ""
        pair = (before.mirror, before.tree), (after.mirror, after.tree)
        return {prefix + path for path in objects.differing(*pair)}
    if isinstance(before, GitLayer) or isinstance(after, GitLayer):
        return set()  # never of one slot
    both = {*before.files, *before.modes} ^ {*after.files, *after.modes}
    return {path for path, _ in both}


def _effective(layers: Sequence[Layer], path: str) -> tuple[str, int] | None:
    """Blob id and mode of what is seen at a path."""
    for layer in layers:
        if isinstance(layer, GitLayer):
            prefix = f"{layer.mountpoint}/" if layer.mountpoint else ""
            inner = path.removeprefix(prefix) if path.startswith(prefix) else ""
            seen = objects.find(layer.mirror, layer.tree, inner) if inner else None
        else:
            oid = layer.listing.files.get(path)
            seen = None if oid is None else (oid, layer.listing.modes.get(path, objects.USUAL_MODE))
        if seen is not None:
            return seen
    return None


def _by_listing(old: Snapshot, new: Snapshot, saltenv: str) -> set[str]:
    paths = {*old.list(saltenv=saltenv), *new.list(saltenv=saltenv)}
    return {path for path in paths if _seen(old, path, saltenv) != _seen(new, path, saltenv)}


def _seen(snapshot: Snapshot, path: str, saltenv: str) -> tuple[str | None, int | None]:
    return snapshot.oid(path, saltenv), snapshot.mode(path, saltenv)
