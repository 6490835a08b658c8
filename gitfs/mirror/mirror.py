"""The mirror of one remote: fetches into its own refs, then makes live what the policy allows.

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
from dataclasses import replace
from pathlib import Path

import pygit2
from pygit2.enums import ObjectType

from gitfs.config.settings import DEFAULT_BASES, RemoteSettings
from gitfs.errors import BadTree, DamagedMirror, FetchFailed, UnknownRef
from gitfs.limits import GitLimits
from gitfs.mirror.fetched import Fetched, no_live_branch, shortened
from gitfs.mirror.gc import expire
from gitfs.mirror.history import newest_commits
from gitfs.mirror.merge import MergeResult, merge
from gitfs.mirror.mirror_store import Busy, MirrorStore
from gitfs.mirror.ref_updates import (
    FETCHED,
    LIVE,
    UNREADABLE,
    Completion,
    RefUpdater,
    commit_at,
)
from gitfs.mirror.transfers import PINNED, FollowedRefs, Transfers
from gitfs.transport.callbacks import failures
from gitfs.tree.objects import report_damage
from gitfs.tree.saltenvs import Refs
from options.limits import CountRefusal, uncounted
from options.near_names import near

_COMMIT_ID = re.compile(r"[0-9a-f]{4,64}\Z")
_KINDS = ("heads", "tags", "pulls")


class Mirror:
    """A bare mirror of one remote under `directory`, which belongs to it alone.

    Args:
        settings: the remote.
        directory: where the mirror lies.
        bases: refs that stay when the remote no longer has them (None: `main` or `master`).
        completions: fetch contents of Git LFS and submodules.
        clock: seconds since the epoch.
        limits: see there.
        on_refusal: see `options.limits.CountRefusal`.
        submodule_of: URL of the remote that it is a submodule of; it has less time then.
    """

    def __init__(
        self,
        settings: RemoteSettings,
        directory: Path,
        *,
        bases: Collection[str | None] = (),
        completions: Sequence[Completion] = (),
        clock: Callable[[], float] = time.time,
        limits: GitLimits | None = None,
        on_refusal: CountRefusal = uncounted,
        submodule_of: str | None = None,
    ) -> None:
        self.settings = settings
        self.limits = limits or GitLimits()
        pinned = tuple(bases) or (settings.branch or settings.base,)
        named = {name for each in pinned for name in (DEFAULT_BASES if each is None else (each,))}
        self.first_refs = frozenset(f"{kind}/{name}" for kind in ("heads", "tags") for name in named)
        """`heads/...` and `tags/...` of the base, which go before all others."""
        self._transfers = Transfers(
            settings, first=self.first_refs, limits=limits, on_refusal=on_refusal, submodule_of=submodule_of
        )
        self._store = MirrorStore(directory)
        self._ref_updater = RefUpdater(
            settings.policy, pinned, directory / "seen", clock, completions, limits, on_refusal
        )
        self._looked_over = False
        self._dropped = self._store.last_dropped()
        self._peeled: dict[str, str] = {}

    @property
    def path(self) -> str:
        """The repository that is in use, for readers; stays the same when the mirror is rebuilt."""
        return str(self._store.current)

    def fetch(self) -> Fetched:
        """Fetch and update the mirror; FetchFailed, with nothing changed, when the fetch fails."""
        with self._writing():
            return self._fetch()

    def gc(self, in_use: Callable[[], Collection[str]]) -> bool:
        """Collect garbage when that is worth it; whether it was done.

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
        """Whether `gc` may have something to do; only reads sizes of files."""
        return self._store.needs_gc()

    def unpin(self, needed: Collection[str], before: float) -> None:
        """Unpin commits that were fetched before that time (seconds since the epoch) and are not needed."""
        with self._writing():
            repository = self._store.open()
            (pins,) = self._store.refs_of(repository).below(PINNED) if repository else ({},)
            for commit in pins.keys() - set(needed):
                file = Path(repository.path, PINNED, commit) if repository else Path()
                if repository and (not file.exists() or file.stat().st_mtime < before):
                    repository.references.delete(PINNED + commit)

    def forget(self) -> None:
        """Make all processes check LFS contents and submodules of commits again: some may be gone."""
        with self._writing():
            self._store.mark_dropped()

    def fetch_commit(self, commit: str) -> None:
        """Fetch this commit with all that it needs, live or not; FetchFailed when the remote does not have it."""
        with self._writing():
            repository = self._with_commit(commit)
            repository.references.create(PINNED + commit, commit, force=True)
        # Without the lock: a repository may be a submodule of its own submodules.
        if why := self._bring(repository, commit):
            raise FetchFailed(self.settings.name, why, retryable=True)

    def is_ready(self, commit: str) -> bool:
        """Whether `fetch_commit` has nothing to bring for a commit. BadTree when it may not be had."""
        self._notice_drops()
        if self._store.damaged:
            return False
        repository = self._store.open()
        try:
            if repository is None or repository.references.get(PINNED + commit) is None or commit not in repository:
                return False
            return self._ref_updater.is_complete(repository, commit)
        except UNREADABLE:
            return False

    def _with_commit(self, commit: str) -> pygit2.Repository:
        """The repository with this commit; made anew when pinned commits in it cannot be read."""
        repository = self._store.open()
        if repository is not None and (not self._store.damaged or self._is_whole(repository, PINNED)):
            try:
                self._receive(repository, commit)
            except FetchFailed:
                if self._is_whole(repository, PINNED):
                    raise
            else:
                return repository
        self._ref_updater.forget()
        pinned = self._store.stored_refs(PINNED)
        new = self._store.create()
        try:
            self._transfer(new)
            self._receive(new, commit)
            for each in pinned.keys() - {commit}:
                with suppress(FetchFailed, BadTree):
                    self._receive(new, each)
                    self._restore(new, each)
                    new.references.create(PINNED + each, each, force=True)
            self._store.use(new)
        except BaseException:
            self._store.drop(new)
            raise
        return new

    def _receive(self, repository: pygit2.Repository, commit: str) -> None:
        """Fetch a commit unless it is there, and look at its files."""
        if commit not in repository:
            self._transfer(repository)
        if commit not in repository:
            self._transfers.one(repository, commit)
        with failures(self.settings):
            self._ref_updater.inspector.inspect(repository, commit_at(repository, commit))

    def _bring(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Have what a commit needs elsewhere; why that was not possible, or None. Without the right to write."""
        why = self._ref_updater.bring(repository, commit)
        if why is None:
            with self._writing():
                why = self._ref_updater.store(repository, commit)
        return why

    def merge(self, base: str, head: str) -> MergeResult:
        """What merging a commit into another would make; FetchFailed when a commit cannot be read."""
        repository = self._store.open()
        try:
            if repository is not None:
                return merge(repository, base, head)
        except (*UNREADABLE, ValueError) as error:
            raise FetchFailed(self.settings.name, f"{head[:8]} cannot be merged: {error}", retryable=False) from error
        raise FetchFailed(self.settings.name, "the mirror is gone", retryable=True)

    def complete(self, commit: str) -> str | None:
        """Have what a commit that was fetched needs beside its own objects; why that was not possible, or None."""
        self._notice_drops()
        if self._ref_updater.is_known(commit):
            return None
        repository = self._store.open()
        try:
            return "the mirror is gone" if repository is None else self._bring(repository, commit)
        except FetchFailed as error:
            return error.reason

    @contextmanager
    def _writing(self) -> Iterator[None]:
        """The right to write; all errors become FetchFailed."""
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
        """Drop the set of complete commits when a process has dropped objects since."""
        if (dropped := self._store.last_dropped()) != self._dropped:
            self._dropped = dropped
            self._ref_updater.forget()

    def has(self, commit: str) -> bool:
        """Whether a commit is there, live or not."""
        repository = self._store.open()
        return repository is not None and commit in repository

    def newest_commits(self, base: str, head: str) -> dict[str, str]:
        """See `history.newest_commits`; nothing where a commit cannot be read."""
        repository = self._store.open()
        with suppress(*UNREADABLE, ValueError):
            return {} if repository is None else newest_commits(repository, base, head)
        return {}

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
        raise DamagedMirror(f"{self.settings.name}: the mirror cannot be read; the next fetch repairs it")

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
        (fetched,) = self._store.refs_of(repository).below(FETCHED)
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
            # Mostly the remote's fault; ours when an object that the transfer builds on is gone.
            if self._is_whole(repository):
                raise
            return self._build(rebuilt=True)
        return self._accept(repository, there, self._live(repository))

    def _build(self, *, rebuilt: bool) -> Fetched:
        """Clone into a new repository, and swap it in. The policy continues from the refs that were live."""
        self._ref_updater.forget()
        before = self._store.stored_refs(LIVE)
        new = self._store.create()
        try:
            there = self._transfer(new)
            kept = {name: oid for name, oid in before.items() if oid in new and self._ref_updater.inspects(new, oid)}
            for name, oid in kept.items():
                self._restore(new, str(commit_at(new, oid).id))
                new.references.create(LIVE + name, oid, force=True)
            accepted = self._accept(new, there, kept)
            self._store.use(new)
        except BaseException:
            self._store.drop(new)
            raise
        self._store.record_gc()
        self._looked_over = True
        return replace(accepted, changed=accepted.live != before, rebuilt=rebuilt)

    def _restore(self, new: pygit2.Repository, commit: str) -> None:
        """Have what the old repository held for a commit beside its objects; FetchFailed when that is not possible."""
        if why := self._ref_updater.restore(new, commit):
            raise FetchFailed(self.settings.name, f"the damaged mirror cannot be made anew: {why}", retryable=True)

    def _transfer(self, repository: pygit2.Repository) -> FollowedRefs:
        """Fetch into the `fetched` refs."""
        with failures(self.settings):
            (held,) = self._store.refs_of(repository).below(FETCHED)
        return self._transfers.all(repository, held)

    def _accept(self, repository: pygit2.Repository, there: FollowedRefs, before: Mapping[str, str]) -> Fetched:
        accepted = self._ref_updater.accept(repository, there.refs, before)
        refused = sorted((*there.refused, *accepted.refused), key=lambda each: each.branch)
        if not accepted.live and not accepted.waiting:
            raise no_live_branch(self.settings.name, refused)
        self._store.pack_refs(repository)
        return Fetched(
            remote=self.settings.name,
            changed=accepted.live != before,
            live=accepted.live,
            refused=shortened(refused, self.limits.reported_refusals),
            waiting=accepted.waiting,
        )

    def _is_whole(self, repository: pygit2.Repository, prefix: str = LIVE) -> bool:
        """Whether all that is live (or has another prefix) can be read."""
        self._ref_updater.forget()
        try:
            (refs,) = self._store.refs_of(repository).below(prefix)
            whole = all(self._ref_updater.inspects(repository, oid) for oid in refs.values())
            if self._store.damaged:
                whole = whole and all(_blobs_read(repository, oid) for oid in refs.values())
        except UNREADABLE:
            return False
        if whole:
            self._looked_over = True
            self._store.clear_damaged()
        return whole

    def _live(self, repository: pygit2.Repository) -> dict[str, str]:
        """The live refs; OSError when one cannot be read: its environment must not disappear silently."""
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
            fresh = {entry.id for entry in found if entry.type != ObjectType.COMMIT} - seen
            seen |= fresh
            waiting.extend(fresh)
    return True
