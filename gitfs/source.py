"""All remotes of a configuration as one source of trees: fetch them, and take what is live or what a ref names.

Called by the controller's loop, by preview and by masterless minions. Decides nothing about when to fetch
(`gitfs.changes` says so) and nothing about the files' meaning.
"""

from __future__ import annotations

import hashlib
import threading
import time
import weakref
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType

from gitfs.config.settings import GIT, ROOTS, IgnoredFiles, RemoteSettings, check_ref
from gitfs.errors import BadRemoteSettings, DamagedMirror, FetchFailed, UnknownRef
from gitfs.fetching.fetcher import Fetcher, unheard
from gitfs.fetching.fork_server import ForkServer
from gitfs.limits import GitLimits
from gitfs.mirror.completed_mirror import SUBMODULES, submodules_of
from gitfs.mirror.fetched import Fetched
from gitfs.mirror.file_commits import EditedCommit, FileEdits
from gitfs.mirror.maintenance import mirror_sizes, needs_gc, remove_unused
from gitfs.mirror.mirror import Mirror
from gitfs.mirror.submodules import Submodules
from gitfs.printable import printable
from gitfs.repositories import by_repository, open_mirrors, repository_key, spec_of
from gitfs.tree import blob_cache, objects
from gitfs.tree.git_layer import GitLayer
from gitfs.tree.listing import Layer
from gitfs.tree.overlays import Overlays, ResolvedOverlay
from gitfs.tree.saltenvs import Refs, SaltenvSource, commit_ids
from gitfs.tree.snapshot import BlobStart, Snapshot
from options.limits import CountRefusal, uncounted
from options.near_names import near

Roots = Mapping[str, Sequence[str | Path]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteRevision:
    """Where one remote's base environment stands."""

    remote: str
    branch: str
    """Branch, or the ref that was asked for in a preview."""
    commit: str
    subject: str
    author: str
    committed: float
    """Seconds since the epoch."""

    @property
    def short(self) -> str:
        """The commit as people write it."""
        return self.commit[:8]


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """What a pair of trees was made from, as people see it."""

    id: str
    """Short commit of the first file remote's base; where there is none, the beginning of the digest."""
    digest: str
    """Names the content of both trees and the commits of all remotes."""
    remotes: Mapping[str, RemoteRevision]
    """Remote's name -> where its base stands; file remotes first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trees:
    """What a compile needs of git, all of one moment."""

    files: Snapshot
    pillar: Snapshot
    revision: Revision
    missing: tuple[str, ...] = ()
    """Remotes of which nothing was ever accepted (or not the branch that is named): these trees lack their files, so
    no trees go live until there are none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedTrees:
    """What merging a ref into another would change."""

    before: Trees
    after: Trees
    merged: bool
    """Whether `after` is the head as it would be merged; else it is the head itself, and `before` the commit where it
    has branched off."""
    problems: tuple[str, ...] = ()
    """Why it is not merged, of each remote for which it is not."""


class Source:
    """The composition of all mirrors. Settings of one repository share a mirror, for files and pillar alike.

    Each remote of pillar is a tree of its own; with `pillar_includes` it sees the files of the others, below its own.
    `asked` and `asked_of_pillar` are environments that the configuration asks for by name, in either tree.
    Fetches run in processes of their own, forked by `fork_server`, or by one that is started with the first fetch.
    What exceeds the limits of what a remote may cost is reported to `on_refusal`, in another thread.
    """

    def __init__(
        self,
        file_settings: Sequence[RemoteSettings],
        pillar_settings: Sequence[RemoteSettings],
        cache_directory: Path,
        file_roots: Roots | None = None,
        pillar_roots: Roots | None = None,
        *,
        backends: Sequence[str] = (ROOTS, GIT),
        ignored: IgnoredFiles | None = None,
        asked: Collection[str] = (),
        asked_of_pillar: Collection[str] = (),
        pillar_includes: bool = True,
        fork_server: ForkServer | None = None,
        limits: GitLimits | None = None,
        on_refusal: CountRefusal = uncounted,
    ) -> None:
        self._file_settings = tuple(file_settings) if GIT in backends else ()
        self._pillar_settings = tuple(pillar_settings)
        self._file_roots = dict(file_roots or {}) if ROOTS in backends else {}
        self._pillar_roots = dict(pillar_roots or {})
        ignored = ignored or IgnoredFiles()
        first = tuple(backends)[:1] == (GIT,)
        self._files = Overlays(
            self._file_settings, self._file_roots, git_first=first, ignored=ignored, layers_of=self._layers, asked=asked
        )
        self._pillar = Overlays(
            self._pillar_settings,
            self._pillar_roots,
            git_first=False,
            ignored=ignored,
            layers_of=self._layers,
            asked=asked_of_pillar,
            apart=True,
            includes=pillar_includes,
        )
        groups = by_repository((*self._file_settings, *self._pillar_settings))
        specs = {key: spec_of(group, cache_directory / key, limits or GitLimits()) for key, group in groups.items()}
        self._mirrors = open_mirrors(specs, limits)
        """Repository's key -> its mirror."""
        self._submodules: dict[str, Submodules] = {
            key: submodules_of(spec.settings, cache_directory, limits) for key, spec in specs.items()
        }
        self._commit_ids = {key: {name for each in group for name in commit_ids(each)} for key, group in groups.items()}
        self._folder = cache_directory
        self.on_news: Callable[[str], None] = unheard
        """Hears, in another thread, the name of a remote whose next fetch moves something live: what a commit needs
        elsewhere was brought."""
        self._fetcher = Fetcher(
            self._mirrors, specs, fork_server, limits=limits, on_refusal=on_refusal, brought=self._tell_news
        )
        self._unheard: dict[str, Future[Fetched]] = {}
        """Key -> a fetch that was late, and that nobody has heard of since."""
        self._snapshots_in_use: list[weakref.ref[Snapshot]] = []
        """Snapshots that somebody may still read: garbage collection keeps their commits."""
        self._tracking_lock = threading.Lock()

    @property
    def remotes(self) -> tuple[RemoteSettings, ...]:
        """One settings of each repository, for `Changes`: names here are the ones that `fetch` reports."""
        return tuple(mirror.settings for mirror in self._mirrors.values())

    def mirrors_of(self, name: str) -> list[tuple[RemoteSettings, Mirror]]:
        """Settings with this name, files first, and the mirrors that they share."""
        both = (*self._file_settings, *self._pillar_settings)
        return [(each, self._mirrors[repository_key(each)]) for each in both if each.name == name]

    @property
    def roots(self) -> tuple[Path, ...]:
        """All local folders, for `Changes`."""
        both = (*self._file_roots.values(), *self._pillar_roots.values())
        return tuple(dict.fromkeys(Path(path) for paths in both for path in paths))

    def fetch(self, names: Collection[str] | None = None, *, patience: float = 5.0) -> list[Fetched | FetchFailed]:
        """Fetch these remotes (None: all), in parallel; failures are returned, not raised.

        What commits need elsewhere (submodules, contents of Git LFS) is waited for too.
        One that has not answered after `patience` seconds is returned as failed and goes on alone: what it brings is
        live when it arrives, and the next call reports it. `roots` and unknown names are passed over.
        """
        deadline = time.monotonic() + patience
        keys = self._keys(names)
        ended = {key: self._fetcher.ended(key) for key in keys}
        first = self._outcomes(keys, deadline, patience)
        settled = [key for key in keys if self._fetcher.settle(key, deadline - time.monotonic(), ended[key])]
        again = self._outcomes(settled, deadline, patience)
        return [_both(first[key], again.get(key)) for key in keys]

    def _outcomes(self, keys: Sequence[str], deadline: float, patience: float) -> dict[str, Fetched | FetchFailed]:
        running = {key: self._fetcher.fetch(key) for key in keys}
        wait_for(running.values(), timeout=max(0.0, deadline - time.monotonic()))
        return {key: self._outcome(key, future, patience) for key, future in running.items()}

    def _tell_news(self, key: str) -> None:
        self.on_news(self._mirrors[key].settings.name)

    def has_pillar_of_these_alone(self, names: Collection[str]) -> bool:
        """Whether all of the pillar comes from the repositories of these remotes, and nothing from a local folder."""
        both = (*self._file_settings, *self._pillar_settings)
        keys = {repository_key(settings) for settings in both if settings.name in names}
        others = {repository_key(settings) for settings in both if settings.name not in names}
        return not self._pillar_roots and {repository_key(each) for each in self._pillar_settings} <= keys - others

    def start_fetch(self, name: str) -> list[Future[Fetched]]:
        """Fetch the mirrors of a remote, each after a fetch of it that is under way: a result or FetchFailed each.

        Waits for nothing that commits need elsewhere; `on_news` tells when that has come.
        """
        return [self._fetcher.fetch(key) for key in self._keys([name])]

    def ask(self, remotes: Sequence[RemoteSettings], *, patience: float) -> list[int | FetchFailed]:
        """Ask remotes, in parallel, how many refs they have; failures are returned, not raised. Fetches nothing.

        One that has not answered after `patience` seconds is returned as failed.
        """
        asked = [self._fetcher.ask(settings, patience) for settings in remotes]
        return [_outcome_of(answer) for answer in asked]

    def _keys(self, names: Collection[str] | None) -> list[str]:
        """Keys of the repositories with these names or addresses."""
        both = (*self._file_settings, *self._pillar_settings)
        named = {repository_key(each) for each in both if names is None or each.name in names or each.url in names}
        return [key for key in self._mirrors if key in named]

    def _outcome(self, key: str, future: Future[Fetched], patience: float) -> Fetched | FetchFailed:
        if not future.done():
            self._unheard.setdefault(key, future)
            name = self._mirrors[key].settings.name
            return FetchFailed(name, f"it has not answered in {patience:g} s and is still being asked", retryable=True)
        before = self._unheard.pop(key, None)
        try:
            fetched = future.result()
        except FetchFailed as error:
            return error
        changed = before is not None and before.exception() is None and before.result().changed
        return replace(fetched, changed=True) if changed else fetched

    @property
    def worker_pids(self) -> tuple[int, ...]:
        """Process ids of the workers that fetch, or wait for the next fetch."""
        return self._fetcher.worker_pids

    def gc(self) -> list[str]:
        """Drop what no ref reaches and no snapshot in use shows, where that is worth it; names of those tidied.

        Runs in a worker, seconds for a large mirror. Readers go on meanwhile; a fetch of the same mirror waits.
        FetchFailed when the worker was lost.
        """
        remove_unused(self._folder, {*self._mirrors, SUBMODULES})
        return self._fetcher.gc(self._folder, self._in_use) if needs_gc(self._folder, self._mirrors) else []

    def disk_bytes(self) -> Mapping[str, int]:
        """Remote -> bytes of its mirror, `submodules` for those of all; looks at every file."""
        return mirror_sizes(self._folder, self._mirrors)

    def _in_use(self, mirror: str) -> set[str]:
        """Commits of a mirror that are shown by snapshots somewhere in this process."""
        snapshots = [found for each in self._snapshots_in_use if (found := each()) is not None]
        return {
            layer.commit
            for snapshot in snapshots
            for layers in snapshot.environments.values()
            for layer in layers
            if isinstance(layer, GitLayer) and layer.mirror == mirror
        }

    def _track(self, snapshot: Snapshot) -> None:
        with self._tracking_lock:
            self._snapshots_in_use = [each for each in self._snapshots_in_use if each() is not None]
            if all(each() is not snapshot for each in self._snapshots_in_use):
                self._snapshots_in_use.append(weakref.ref(snapshot))

    def live(self) -> Trees:
        """What is accepted of every remote, and the local folders as they are now.

        Needs no remote: after a restart it is what the last run accepted.
        """
        return self._trees(None)

    def at(self, ref: str) -> Trees:
        """As `live`, but every remote that has this branch, tag or commit shows it as its base environment.

        Raises UnknownRef when no remote has it.
        """
        try:
            check_ref(ref, "ref")
        except BadRemoteSettings:
            raise UnknownRef(ref, why=f"{ref!r} cannot be the name of a branch, tag or commit") from None
        return self._trees(ref)

    def pinned(self, commits: Mapping[str, str]) -> Trees:
        """As `live`, but these remotes (by name) show a commit as their base environment. UnknownRef if it is gone."""
        asked = {
            repository_key(each): commits[each.name]
            for each in (*self._file_settings, *self._pillar_settings)
            if each.name in commits
        }
        for key, commit in asked.items():
            self._mirrors[key].commit_of(commit)
            self._fetcher.complete(key, commit)
        return self._trees(next(iter(asked.values()), None), asked)

    def merged(self, base: str, head: str) -> MergedTrees:
        """What merging `head` into `base` would make, of each remote that has both; nothing is changed.

        What was pushed to the base since the head has branched off is on both sides. Where the two conflict, the head
        is compared with the commit where it has branched off. Raises UnknownRef when no remote has one of them.
        """
        for ref in (base, head):
            try:
                check_ref(ref, "ref")
            except BadRemoteSettings:
                raise UnknownRef(ref, why=f"{ref!r} cannot be the name of a branch, tag or commit") from None
        bases, heads = self._asked(base), self._asked(head)
        for ref, found in ((base, bases), (head, heads)):
            if not found:
                raise UnknownRef(ref, near(ref, self.names(), most=3))
        own = dict(heads)
        problems = [problem for key in bases.keys() & heads.keys() if (problem := self._merge(key, base, bases, heads))]
        after = self._trees(head, {**bases, **heads})
        return MergedTrees(
            before=self._trees(base, bases),
            after=replace(after, revision=self._named_by(after.revision, own)),
            merged=not problems,
            problems=tuple(problems),
        )

    def _named_by(self, revision: Revision, commits: Mapping[str, str]) -> Revision:
        """The revision with the commits that people know, in place of those that a merge has made."""
        known = {
            each.name: commits[key]
            for each in (*self._file_settings, *self._pillar_settings)
            if (key := repository_key(each)) in commits
        }
        remotes = {name: replace(at, commit=known.get(name, at.commit)) for name, at in revision.remotes.items()}
        return replace(revision, id=next((at.short for at in remotes.values()), revision.id), remotes=remotes)

    def _merge(self, key: str, base: str, bases: dict[str, str], heads: dict[str, str]) -> str:
        """Put the merged commit into `heads`; else where the head has branched off into `bases`, and say why."""
        name, head = self._mirrors[key].settings.name, heads[key]
        try:
            found = self._fetcher.merge(key, bases[key], head)
        except FetchFailed as error:
            return f"{name}: not compared as merged into {base}: {error.reason}"
        if found.commit:
            self._fetcher.complete(key, found.commit)
            heads[key] = found.commit
            return ""
        bases[key] = found.ancestor or bases[key]
        if not found.ancestor:
            return f"{name}: {head[:8]} has no commit in common with {base}"
        return f"{name}: {head[:8]} conflicts with {base} in {', '.join(map(printable, found.conflicts))}"

    def edit(self, mirror: str, edits: FileEdits) -> EditedCommit:
        """Make a commit in the mirror at a path: `pinned` shows it, and no ref names it. FetchFailed."""
        return self._fetcher.edit(self._key_at(mirror), edits)

    def push(self, remote: str, mirror: str, commit: str, branch: str) -> None:
        """Push a commit of the mirror at a path to its remote, as a branch that is not there yet. FetchFailed."""
        settings = self.writable(remote, mirror)
        if settings is None:
            raise FetchFailed(remote, "there is no way to write to it", retryable=False)
        self._fetcher.push(self._key_at(mirror), settings, commit, branch)

    def writable(self, remote: str, mirror: str) -> RemoteSettings | None:
        """The settings of a remote with this mirror that say how to write to it; None where none do."""
        found = (each for each, one in self.mirrors_of(remote) if one.path == mirror and each.takes_branches)
        return next(found, None)

    def _key_at(self, path: str) -> str:
        for key, mirror in self._mirrors.items():
            if mirror.path == path:
                return key
        raise FetchFailed(Path(path).parent.name, "no remote has this mirror", retryable=False)

    def blob_start(self, oid: str, length: int) -> BlobStart | None:
        """The first bytes of a blob of any commit that a remote of states has or had; None when there is none.

        Not of submodules, nor of local folders: these are read through the snapshots that show them.
        """
        for settings in self._file_settings:
            mirror = self._mirrors[repository_key(settings)].path
            with suppress(DamagedMirror):
                if objects.has(mirror, oid):
                    return BlobStart(objects.blob_size(mirror, oid), blob_cache.read_range(mirror, oid, 0, length))
        return None

    def newest_commits(self, before: Revision, after: Revision) -> dict[str, str]:
        """Path in the trees -> short id and subject of the newest commit between two revisions that touched it."""
        found: dict[str, str] = {}
        for settings in (*self._file_settings, *self._pillar_settings):
            old, new = before.remotes.get(settings.name), after.remotes.get(settings.name)
            if old is None or new is None or old.commit == new.commit:
                continue
            touched = self._mirrors[repository_key(settings)].newest_commits(old.commit, new.commit)
            below, above = (f"{folder}/" if folder else "" for folder in (settings.root, settings.mountpoint))
            found |= {above + path[len(below) :]: text for path, text in touched.items() if path.startswith(below)}
        return found

    def names(self) -> list[str]:
        """Branches and tags of all remotes, sorted."""
        return sorted({name for mirror in self._mirrors.values() for name in mirror.names()})

    def close(self) -> None:
        """End the processes; a fetch that hangs is not waited for."""
        self._fetcher.close()

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _trees(self, ref: str | None, asked: Mapping[str, str] | None = None) -> Trees:
        """`asked`: repository's key -> the commit to show for the ref; None: what the ref is there."""
        refs = {key: mirror.refs(self._commit_ids[key]) for key, mirror in self._mirrors.items()}
        if asked is None:
            asked = {} if ref is None else self._asked(ref)
        if ref is not None and not asked:
            raise UnknownRef(ref, near(ref, self.names(), most=3))
        bases: dict[str, RemoteRevision] = {}
        files = self._resolve(self._files, refs, ref, asked, bases)
        first = next(iter(bases.values()), None)
        pillar = self._resolve(self._pillar, refs, ref, asked, bases)
        for each in (files, pillar):
            self._track(each.snapshot)
        whole = hashlib.sha256(f"{files.snapshot.digest}\0{pillar.snapshot.digest}".encode())
        for name, base in bases.items():
            whole.update(f"\0{name}\0{base.commit}".encode())
        digest = whole.hexdigest()
        revision = Revision(id=first.short if first else digest[:8], digest=digest, remotes=bases)
        missing = (*files.missing(self._files.settings), *pillar.missing(self._pillar.settings))
        return Trees(
            files=files.snapshot, pillar=pillar.snapshot, revision=revision, missing=tuple(dict.fromkeys(missing))
        )

    def _resolve(
        self,
        overlays: Overlays,
        refs: Mapping[str, Refs],
        ref: str | None,
        asked: Mapping[str, str],
        bases: dict[str, RemoteRevision],
    ) -> ResolvedOverlay:
        """What a tree shows; adds where the base of each of its remotes stands to `bases`."""
        keys = [repository_key(settings) for settings in overlays.settings]
        own = [refs[key] for key in keys]
        if ref is None:
            resolved = overlays.live(own)
        else:
            resolved = overlays.at(own, {number: (ref, asked[key]) for number, key in enumerate(keys) if key in asked})
        for settings, key, each in zip(overlays.settings, keys, resolved.sources, strict=True):
            if base := each.get("base"):
                mirror = self._mirrors[key].path
                bases.setdefault(settings.name, _remote_revision(mirror, settings.name, base.ref, base.commit))
        return resolved

    def _asked(self, ref: str) -> dict[str, str]:
        """Repository's key -> commit, for the repositories that have the ref."""
        found: dict[str, str] = {}
        for key, mirror in self._mirrors.items():
            try:
                found[key] = mirror.commit_of(ref)
                self._fetcher.complete(key, found[key])
            except UnknownRef as error:
                if error.why:
                    raise
        return found

    def _layers(self, settings: RemoteSettings, source: SaltenvSource) -> list[Layer]:
        key = repository_key(settings)
        mirror = self._mirrors[key].path
        own = GitLayer.of(mirror, settings.name, source.commit, source.root, source.mountpoint, lfs=settings.lfs)
        return [own, *(self._submodules[key].layers(mirror, source) if settings.submodules else ())]


def _outcome_of(answer: Callable[[], int]) -> int | FetchFailed:
    try:
        return answer()
    except FetchFailed as error:
        return error


def _both(first: Fetched | FetchFailed, second: Fetched | FetchFailed | None) -> Fetched | FetchFailed:
    """What two fetches brought together."""
    if isinstance(first, Fetched) and isinstance(second, Fetched):
        return replace(second, changed=first.changed or second.changed, rebuilt=first.rebuilt or second.rebuilt)
    return second or first


def _remote_revision(mirror: str, remote: str, branch: str, commit: str) -> RemoteRevision:
    found = objects.commit_object(mirror, commit)
    # Taken as bytes: an author may declare an encoding that does not exist.
    lines = found.raw_message.decode(errors="replace").strip().splitlines()
    return RemoteRevision(
        remote=remote,
        branch=branch,
        commit=commit,
        subject=lines[0] if lines else "",
        author=found.author.raw_name.decode(errors="replace") if found.author.raw_name else "",
        committed=float(found.commit_time),
    )
