"""One remote, mirrored: fetch into refs of its own, then accept what the policy allows.

    refs/saltern/fetched/{heads,tags,pulls}/*   what the remote has now; previews read this
    refs/saltern/live/{heads,tags}/*            what was accepted; snapshots are made of this
    refs/saltern/pinned/*                       commits that a parent records as its submodule

Called by `gitfs.source`. Never runs a command of a repository, never makes a checkout. A fetch that fails changes
nothing live.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pygit2
from pygit2.enums import FileMode

from gitfs.config.settings import RemoteSettings
from gitfs.errors import DamagedMirror, FetchFailed, UnknownRef
from gitfs.mirror.gc import expire
from gitfs.mirror.mirror_store import Busy, MirrorStore
from gitfs.mirror.ref_updates import (
    FETCHED,
    LIVE,
    UNREADABLE,
    Completion,
    RefRefused,
    RefUpdater,
    commit_at,
    refs_below,
)
from gitfs.mirror.transfers import PINNED, Transfers
from gitfs.near_names import near
from gitfs.transport.callbacks import failures
from gitfs.tree.objects import report_damage
from gitfs.tree.saltenvs import Refs

_COMMIT_ID = re.compile(r"[0-9a-f]{4,64}\Z")
_KINDS = ("heads", "tags", "pulls")


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetch brought."""

    remote: str
    changed: bool
    """Whether a live branch or tag moved, came or went."""
    live: Mapping[str, str]
    """`heads/...` -> commit and `tags/...` -> id (of the tag's object, where it has one), as they are live now."""
    refused: tuple[RefRefused, ...] = ()
    rebuilt: bool = False
    """The mirror was damaged and has been made anew."""

    @property
    def refs(self) -> Mapping[str, str]:
        """Branch -> commit that is live now."""
        return _of_kind(self.live, "heads/")

    @property
    def tags(self) -> Mapping[str, str]:
        """Tag -> id that is live now."""
        return _of_kind(self.live, "tags/")


class Mirror:
    """A bare mirror of one remote under `directory`, which belongs to it alone.

    Args:
        settings: the remote.
        directory: where the mirror lies.
        bases: refs that do not go by the remote's losing them (None: `main` or `master`).
        completions: bring what a commit needs beside its own objects.
        clock: seconds since the epoch.
    """

    def __init__(
        self,
        settings: RemoteSettings,
        directory: Path,
        *,
        bases: Collection[str | None] = (),
        completions: Sequence[Completion] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.settings = settings
        self._transfers = Transfers(settings)
        self._store = MirrorStore(directory)
        pinned = tuple(bases) or (settings.branch or settings.base,)
        self._ref_updater = RefUpdater(settings.policy, pinned, directory / "seen", clock, completions)
        self._looked_over = False
        self._dropped = self._store.last_dropped()
        self._peeled: dict[str, str] = {}

    @property
    def path(self) -> str:
        """The repository that is in use, for readers; stays the same when the mirror is rebuilt."""
        return str(self._store.current)

    def fetch(self) -> Fetched:
        """Bring the mirror up to date; FetchFailed, with nothing changed, when the remote gives nothing usable."""
        with self._writing():
            return self._fetch()

    def gc(self, in_use: Callable[[], Collection[str]]) -> bool:
        """Make one pack of many and drop what nobody needs, once that is worth it; whether it was done.

        Args:
            in_use: asked when it is to be done, for the commits that snapshots in use show. What refs reach stays.
        """
        if not self.needs_gc():
            return False
        with self._writing():
            repository = self._store.open()
            if repository is None:
                return False
            (refs,) = self._store.refs_of(repository).below("")
            expire(repository, set(refs.values()), in_use())
            self._store.record_gc()
            self._store.mark_dropped()
        return True

    def needs_gc(self) -> bool:
        """Whether `gc` has something to do, as far as that can be told without work."""
        return self._store.needs_gc()

    def unpin(self, needed: Collection[str], before: float) -> None:
        """Let go of commits that were brought before that time (seconds since the epoch) and are not needed."""
        with self._writing():
            repository = self._store.open()
            (pins,) = self._store.refs_of(repository).below(PINNED) if repository else ({},)
            for commit in pins.keys() - set(needed):
                file = Path(repository.path, PINNED, commit) if repository else Path()
                if repository and (not file.exists() or file.stat().st_mtime < before):
                    repository.references.delete(PINNED + commit)

    def forget(self) -> None:
        """Have all processes look anew at what commits need beside their own objects: some of it may be gone."""
        with self._writing():
            self._store.mark_dropped()

    def fetch_commit(self, commit: str) -> None:
        """Have this commit with all that it needs, live or not; FetchFailed when the remote does not give it."""
        with self._writing():
            repository = self._store.open()
            if repository is None:
                repository = self._store.create()
                self._transfer(repository)
                self._store.use(repository)
            elif commit not in repository:
                self._transfer(repository)
            if commit not in repository:
                self._transfers.one(repository, commit)
            with failures(self.settings):
                repository.references.create(PINNED + commit, commit, force=True)
                self._ref_updater.inspector.inspect(repository, commit_at(repository, commit))
            why = self._ref_updater.missing_here(repository, commit)
        # Not with the lock in hand: a repository may be a submodule of its own submodules.
        why = why or self._ref_updater.missing_elsewhere(repository, commit)
        if why:
            raise FetchFailed(self.settings.name, why, retryable=True)

    def complete(self, commit: str) -> None:
        """Have what a commit that was fetched needs beside its own objects, before it is shown in a preview.

        UnknownRef, which says why, when that is not possible.
        """
        self._notice_drops()
        if self._ref_updater.is_complete(commit):
            return
        try:
            with self._writing():
                repository = self._store.open()
                why = "the mirror is gone" if repository is None else self._ref_updater.missing(repository, commit)
        except FetchFailed as error:
            why = error.reason
        if why:
            raise UnknownRef(commit, why=f"{self.settings.name}: commit {commit[:8]}: {why}")

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The right to write; whatever goes wrong becomes FetchFailed."""
        try:
            with self._store.writing():
                self._notice_drops()
                yield
        except Busy:
            raise FetchFailed(self.settings.name, "another process holds the mirror", retryable=True) from None
        except OSError as error:
            reason = f"the mirror's directory cannot be written: {error.strerror or error}"
            raise FetchFailed(self.settings.name, reason, retryable=True) from error
        except (pygit2.GitError, KeyError, ValueError) as error:
            report_damage(self.path)
            reason = f"the mirror cannot be used and will be made anew: {error}"
            raise FetchFailed(self.settings.name, reason, retryable=True) from error

    def _notice_drops(self) -> None:
        """Forget what was known to be complete, when any process has dropped objects since."""
        if (dropped := self._store.last_dropped()) != self._dropped:
            self._dropped = dropped
            self._ref_updater.forget()

    def has(self, commit: str) -> bool:
        """Whether a commit is there, live or not."""
        repository = self._store.open()
        return repository is not None and commit in repository

    def held(self) -> set[str]:
        """All commits that the remote has or that are live."""
        repository = self._store.open()
        if repository is None:
            return set()
        fetched, live = self._store.refs_of(repository).below(FETCHED, LIVE)
        found = set()
        for oid in {*fetched.values(), *live.values()}:
            with suppress(*UNREADABLE):
                found.add(str(commit_at(repository, oid).id))
        return found

    def branches(self) -> Mapping[str, str]:
        """Branch -> commit that is live; empty before the first fetch. DamagedMirror when it cannot be read."""
        return self.refs().heads

    def refs(self, commits: Collection[str] = ()) -> Refs:
        """All that is live, and those of `commits` (ids, whole or shortened) that were fetched; as `branches`."""
        repository = self._store.open()
        if repository is None and not self._store.current.is_symlink():
            return Refs()
        try:
            if repository is not None:
                heads, tags = self._store.refs_of(repository).below(LIVE + "heads/", LIVE + "tags/")
                return Refs(
                    heads=heads,
                    tags={name: self._peel(repository, oid) for name, oid in tags.items()},
                    commits=_known_commits(repository, commits),
                )
        except UNREADABLE:
            report_damage(self.path)
        raise DamagedMirror(f"{self.settings.name}: the mirror {self.path} cannot be read; the next fetch repairs it")

    def commit_of(self, ref: str) -> str:
        """The commit of a branch, tag or pull request as last fetched, or of an id, whole or shortened; UnknownRef."""
        repository = self._store.open()
        if repository is None:
            raise UnknownRef(ref)
        for name in (*(f"{kind}/" + ref.removeprefix(f"refs/{kind}/") for kind in _KINDS), _pull_request(ref)):
            try:
                return str(repository.references[FETCHED + name].peel(pygit2.Commit).id)
            except UNREADABLE:
                continue
        return self._commit_by_id(repository, ref)

    def _commit_by_id(self, repository: pygit2.Repository, ref: str) -> str:
        if _COMMIT_ID.match(ref):
            try:
                return str(commit_at(repository, ref).id)
            except pygit2.InvalidSpecError:
                pass
            except ValueError:
                raise UnknownRef(ref, why=f"{ref!r} begins more than one id; write more of it") from None
            except (pygit2.GitError, KeyError):
                pass
        raise UnknownRef(ref, near(ref, self.names(), most=3))

    def names(self) -> list[str]:
        """Branches and tags, as last fetched, sorted."""
        repository = self._store.open()
        if repository is None:
            return []
        fetched = refs_below(repository, FETCHED)
        return sorted({name.partition("/")[2] for name in fetched if not name.startswith("pulls/")})

    def _fetch(self) -> Fetched:
        repository = self._store.open()
        if repository is None:
            return self._build(rebuilt=self._store.current.is_symlink())
        if (not self._looked_over or self._store.damaged) and not self._is_whole(repository):
            return self._build(rebuilt=True)
        try:
            there = self._transfer(repository)
        except FetchFailed:
            # The remote's fault most of the time; ours when an object that the transfer built on is gone.
            if self._is_whole(repository):
                raise
            return self._build(rebuilt=True)
        return self._accept(repository, there, self._live(repository))

    def _build(self, *, rebuilt: bool) -> Fetched:
        """Make the mirror beside the one in use, and swap. The policy goes on from what was live before."""
        self._ref_updater.forget()
        before = self._store.stored_refs(LIVE)
        new = self._store.create()
        try:
            there = self._transfer(new)
            kept = {name: oid for name, oid in before.items() if oid in new and self._ref_updater.inspects(new, oid)}
            for name, oid in kept.items():
                new.references.create(LIVE + name, oid, force=True)
            accepted = self._accept(new, there, kept)
            self._store.use(new)
        except BaseException:
            self._store.drop(new)
            raise
        self._store.record_gc()
        self._looked_over = True
        return replace(accepted, changed=accepted.live != before, rebuilt=rebuilt)

    def _transfer(self, repository: pygit2.Repository) -> dict[str, str]:
        """Fetch into the `fetched` refs; `heads/...`, `tags/...`, `pulls/...` -> id, as the remote has them."""
        with failures(self.settings):
            (held,) = self._store.refs_of(repository).below(FETCHED)
        return self._transfers.all(repository, held)

    def _accept(self, repository: pygit2.Repository, there: Mapping[str, str], before: Mapping[str, str]) -> Fetched:
        after, refused = self._ref_updater.accept(repository, there, before)
        if not after:
            reason = f"no branch can be used: {refused[0]}" if refused else "no branch"
            raise FetchFailed(self.settings.name, reason, retryable=True)
        self._store.pack_refs(repository)
        return Fetched(
            remote=self.settings.name,
            changed=after != before,
            live=after,
            refused=tuple(refused),
        )

    def _is_whole(self, repository: pygit2.Repository) -> bool:
        """Whether all that is live can be read."""
        self._ref_updater.forget()
        try:
            live = self._live(repository)
            whole = all(self._ref_updater.inspects(repository, oid) for oid in live.values())
            if self._store.damaged:
                whole = whole and all(_blobs_read(repository, oid) for oid in live.values())
        except UNREADABLE:
            return False
        if whole:
            self._looked_over = True
            self._store.clear_damaged()
        return whole

    def _live(self, repository: pygit2.Repository) -> dict[str, str]:
        """The live refs; OSError when one is there and cannot be read, as an environment would be gone in silence."""
        (live,) = self._store.refs_of(repository).below(LIVE)
        return live

    def _peel(self, repository: pygit2.Repository, oid: str) -> str:
        if oid not in self._peeled:
            self._peeled[oid] = str(commit_at(repository, oid).id)
        return self._peeled[oid]


def _pull_request(ref: str) -> str:
    """`pull/12`, `pull/12/head`, `merge-requests/12`, `pulls/12`: pull request 12."""
    match = re.fullmatch(r"(?:refs/)?(?:pulls?|merge-requests|pull-requests|pr|mr)/(\d+)(?:/(?:head|from))?", ref)
    return f"pulls/{match[1]}" if match else "pulls/" + ref


def _of_kind(refs: Mapping[str, str], prefix: str) -> dict[str, str]:
    return {name.removeprefix(prefix): oid for name, oid in refs.items() if name.startswith(prefix)}


def _known_commits(repository: pygit2.Repository, commits: Collection[str]) -> dict[str, str]:
    found = {}
    for name in commits:
        try:
            found[name] = str(commit_at(repository, name).id)
        except (pygit2.GitError, KeyError, ValueError):
            continue  # not fetched (yet), ambiguous, or the name of a branch after all
    return found


def _blobs_read(repository: pygit2.Repository, oid: str) -> bool:
    """Whether every blob that an id leads to can be read; looks at each content once."""
    seen: set[pygit2.Oid] = set()
    waiting: list[pygit2.Oid] = [commit_at(repository, oid).tree_id]
    while waiting:
        found = repository[waiting.pop()]
        if isinstance(found, pygit2.Tree):
            fresh = {entry.id for entry in found if entry.filemode != FileMode.COMMIT} - seen
            seen |= fresh
            waiting.extend(fresh)
    return True
