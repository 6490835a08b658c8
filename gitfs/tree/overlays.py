"""The layers of all saltenvs, kept from look to look: a branch that moves costs what its own environments cost.

Called by `gitfs.source`, once for the states and once for the pillar. Touches no mirror itself: refs come in, and what
a source looks like is asked of `layers_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitfs.config.settings import IgnoredFiles, RemoteSettings
from gitfs.tree.directory import scan
from gitfs.tree.listing import Layer
from gitfs.tree.saltenvs import Refs, SaltenvSource, commit_of, environments, own_saltenvs
from gitfs.tree.snapshot import FOLDERS, Snapshot

LayersOf = Callable[[RemoteSettings, SaltenvSource], Sequence[Layer]]
_Local = Mapping[str, tuple[Layer, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedOverlay:
    """What a set of remotes and folders shows at one moment."""

    snapshot: Snapshot
    sources: tuple[Mapping[str, SaltenvSource], ...]
    """For each of the settings: saltenv -> what is shown there."""
    refs: tuple[Refs, ...]
    local: _Local = field(default_factory=dict)

    def missing(self, all_settings: Sequence[RemoteSettings]) -> list[str]:
        """Names of the remotes that have nothing to show."""
        return [each.name for each, sources in zip(all_settings, self.sources, strict=True) if not sources]


class Overlays:
    """The remotes and folders of one tree, laid over each other.

    Args:
        all_settings: the remotes, the first over the next.
        roots: saltenv -> folders.
        git_first: whether remotes lie over folders.
        ignored: files that are in no tree.
        layers_of: the layers of a source of a remote.
        apart: whether each remote is compiled by itself (pillar), and the folders too.
        includes: whether a remote that is sees the files of the others.
        asked: environments that somebody is known to ask for, which `fallback` fills where no ref has their name.
    """

    def __init__(
        self,
        all_settings: Sequence[RemoteSettings],
        roots: Mapping[str, Sequence[str | Path]],
        *,
        git_first: bool,
        ignored: IgnoredFiles,
        layers_of: LayersOf,
        asked: Collection[str] = (),
        apart: bool = False,
        includes: bool = True,
    ) -> None:
        self.settings = tuple(all_settings)
        self._apart = apart and len(self.settings) + bool(roots) > 1
        self._includes = includes
        self._roots = roots
        self._git_first = git_first
        self._ignored = ignored
        self._layers_of = layers_of
        self._asked = {"base", *asked} if any(each.fallback for each in all_settings) else set()
        self._last: ResolvedOverlay | None = None

    def live(self, refs: Sequence[Refs]) -> ResolvedOverlay:
        """What these refs (for each of the settings) show; looks at what moved since the last call alone."""
        local = self._scanned()
        last = self._last  # taken once: another thread may be looking too
        moved = None if last is None else _moved(last.refs, refs)
        if last is None or moved is None:
            found = self._whole(refs, local, {})
        else:
            found = self._advanced(last, refs, local, moved)
        self._last = found
        return found

    def at(self, refs: Sequence[Refs], base: Mapping[int, tuple[str, str]]) -> ResolvedOverlay:
        """As `live`, with another (ref, commit) as the base of some settings, by their number."""
        return self._whole(refs, self._scanned(), base)

    def _scanned(self) -> _Local:
        return {env: tuple(scan(path) for path in paths) for env, paths in self._roots.items()}

    def _whole(self, refs: Sequence[Refs], local: _Local, base: Mapping[int, tuple[str, str]]) -> ResolvedOverlay:
        known = {*self._roots, *self._asked}
        for settings, own in zip(self.settings, refs, strict=True):
            known |= own_saltenvs(settings, own)
        sources = [environments(settings, own, known) for settings, own in zip(self.settings, refs, strict=True)]
        for number, (ref, commit) in base.items():
            if "base" in sources[number]:
                sources[number]["base"] = replace(sources[number]["base"], ref=ref, commit=commit)
        saltenvs = sorted({*local, *(env for each in sources for env in each)})
        layers, owners = self._stacks(saltenvs, sources, local)
        snapshot = Snapshot(environments=layers, ignored=self._ignored, owners=owners, includes=self._includes)
        return ResolvedOverlay(snapshot=snapshot, sources=tuple(sources), refs=tuple(refs), local=local)

    def _advanced(
        self, last: ResolvedOverlay, refs: Sequence[Refs], local: _Local, moved: Sequence[set[str]]
    ) -> ResolvedOverlay:
        """The same environments as before, some of them with other layers."""
        changed = {env for env, layers in local.items() if layers != last.local[env]}
        sources = list(last.sources)
        for number, names in enumerate(moved):
            if names:
                settings, own = self.settings[number], refs[number]
                fresh = {env: source for env, source in sources[number].items() if source.ref in names}
                fresh = {env: _replaced(source, settings, own) for env, source in fresh.items()}
                sources[number] = {**sources[number], **fresh}
                changed |= fresh.keys()
        layers, owners = self._stacks(changed, sources, local)
        return ResolvedOverlay(
            snapshot=last.snapshot.with_layers(layers, owners), sources=tuple(sources), refs=tuple(refs), local=local
        )

    def _stacks(
        self, saltenvs: Iterable[str], sources: Sequence[Mapping[str, SaltenvSource]], local: _Local
    ) -> tuple[dict[str, tuple[Layer, ...]], dict[str, tuple[int, ...]]]:
        """The layers of each environment, and whose they are where trees are kept apart."""
        layers, owners = {}, {}
        for env in saltenvs:
            stack = self._stack(env, sources, local)
            layers[env] = tuple(layer for _, layer in stack)
            if self._apart:
                owners[env] = tuple(number for number, _ in stack)
        return layers, owners

    def _stack(
        self, saltenv: str, sources: Iterable[Mapping[str, SaltenvSource]], local: _Local
    ) -> tuple[tuple[int, Layer], ...]:
        remote: list[tuple[int, Layer]] = []
        for number, (settings, shown) in enumerate(zip(self.settings, sources, strict=True)):
            if saltenv in shown:
                remote.extend((number, layer) for layer in self._layers_of(settings, shown[saltenv]))
        folders = [(FOLDERS, layer) for layer in local.get(saltenv, ())]
        return (*remote, *folders) if self._git_first else (*folders, *remote)


def _replaced(source: SaltenvSource, settings: RemoteSettings, refs: Refs) -> SaltenvSource:
    return replace(source, commit=commit_of(settings, refs, source.ref) or source.commit)


def _moved(before: Sequence[Refs], now: Sequence[Refs]) -> list[set[str]] | None:
    """For each of the settings, the refs that lead elsewhere; None when a name came or went."""
    found = []
    for old, new in zip(before, now, strict=True):
        if old.heads.keys() != new.heads.keys() or old.tags.keys() != new.tags.keys() or old.commits != new.commits:
            return None
        found.append({name for name, _ in (*(new.heads.items() - old.heads.items()), *_tags(old, new))})
    return found


def _tags(old: Refs, new: Refs) -> set[tuple[str, str]]:
    return new.tags.items() - old.tags.items()
