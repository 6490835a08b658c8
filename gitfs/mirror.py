"""One remote, mirrored: fetch into a holding namespace, then accept what the policy allows.

    refs/saltern/fetched/{heads,tags}/*   what the remote has now; previews read this
    refs/saltern/live/heads/*             what was accepted; snapshots are made of this

Called by `gitfs.source`. Never runs a program, never makes a checkout. A fetch that fails changes nothing live.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2
from pygit2.enums import FetchPrune, FileMode

from gitfs.errors import BadTree, DamagedMirror, FetchFailed, UnknownRef
from gitfs.generations import Busy, Generations, report_damage
from gitfs.settings import DEFAULT_BASES, RemoteSettings
from gitfs.transport import Callbacks, Refusal, failures, trust
from gitfs.trees import Inspector

FETCHED = "refs/saltern/fetched/"
LIVE = "refs/saltern/live/heads/"

_REFSPECS = [f"+refs/{kind}/*:{FETCHED}{kind}/*" for kind in ("heads", "tags")]
_COMMIT_ID = re.compile(r"[0-9a-f]{4,64}\Z")
_UNREADABLE = (pygit2.GitError, KeyError, ValueError, OSError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A branch that stays where it was, and why."""

    branch: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Fetched:
    """What a fetch brought."""

    remote: str
    changed: bool
    """Whether a live branch moved, came or went."""
    refs: Mapping[str, str]
    """Branch -> commit that is live now."""
    refused: tuple[Refused, ...] = ()
    rebuilt: bool = False
    """The mirror was damaged and has been made anew."""


class Mirror:
    """A bare mirror of one remote under `directory`, which belongs to it alone."""

    def __init__(self, settings: RemoteSettings, directory: Path, *, bases: Collection[str | None] = ()) -> None:
        self.settings = settings
        self._bases = tuple(bases) or (settings.branch or settings.base,)
        self._generations = Generations(directory)
        self._inspector = Inspector()
        self._looked_over = False

    @property
    def path(self) -> str:
        """The repository that is in use, for readers; stays the same when the mirror is rebuilt."""
        return str(self._generations.current)

    def fetch(self) -> Fetched:
        """Bring the mirror up to date; FetchFailed, with nothing changed, when the remote gives nothing usable."""
        try:
            with self._generations.writing():
                fetched = self._fetch()
                self._generations.compact()
                return fetched
        except Busy:
            raise FetchFailed(self.settings.name, "another process holds the mirror", retryable=True) from None
        except OSError as error:
            reason = f"the mirror's directory cannot be written: {error.strerror or error}"
            raise FetchFailed(self.settings.name, reason, retryable=True) from error
        except (pygit2.GitError, KeyError, ValueError) as error:
            report_damage(self.path)
            reason = f"the mirror cannot be used and will be made anew: {error}"
            raise FetchFailed(self.settings.name, reason, retryable=True) from error

    def branches(self) -> Mapping[str, str]:
        """Branch -> commit that is live; empty before the first fetch. DamagedMirror when it cannot be read."""
        repository = self._generations.open()
        if repository is None and not self._generations.current.is_symlink():
            return {}
        try:
            if repository is not None:
                return self._live(repository)
        except _UNREADABLE:
            report_damage(self.path)
        raise DamagedMirror(f"{self.settings.name}: the mirror {self.path} cannot be read; the next fetch repairs it")

    def base_of(self, settings: RemoteSettings) -> str | None:
        """The live branch that is `settings`' base; None when there is none."""
        return base_branch(settings.base, self.branches())

    def commit_of(self, ref: str) -> str:
        """The commit of a branch or tag as last fetched, or of a commit id, whole or shortened; raises UnknownRef."""
        repository = self._generations.open()
        if repository is None:
            raise UnknownRef(ref)
        for kind in ("heads", "tags"):
            name = FETCHED + kind + "/" + ref.removeprefix(f"refs/{kind}/")
            try:
                return str(repository.references[name].peel(pygit2.Commit).id)
            except _UNREADABLE:
                continue
        return self._commit_by_id(repository, ref)

    def _commit_by_id(self, repository: pygit2.Repository, ref: str) -> str:
        if _COMMIT_ID.match(ref):
            try:
                found = repository[ref]
                return str(found.peel(pygit2.Commit).id)
            except ValueError:
                raise UnknownRef(ref, why=f"{ref!r} begins more than one id; write more of it") from None
            except (pygit2.GitError, KeyError):
                pass
        raise UnknownRef(ref, difflib.get_close_matches(ref, self.names(), n=3))

    def names(self) -> list[str]:
        """Branches and tags, as last fetched, sorted."""
        repository = self._generations.open()
        if repository is None:
            return []
        return sorted({name for kind in ("heads/", "tags/") for name in _refs(repository, FETCHED + kind)})

    def _fetch(self) -> Fetched:
        repository = self._generations.open()
        if repository is None:
            return self._build(rebuilt=self._generations.current.is_symlink())
        if (not self._looked_over or self._generations.damaged) and not self._is_whole(repository):
            return self._build(rebuilt=True)
        try:
            heads = self._transfer(repository)
        except FetchFailed:
            # The remote's fault most of the time; ours when an object that the transfer built on is gone.
            if self._is_whole(repository):
                raise
            return self._build(rebuilt=True)
        return self._accept(repository, heads)

    def _build(self, *, rebuilt: bool) -> Fetched:
        """Make the mirror beside the one in use, and swap. The policy goes on from what was live before."""
        self._inspector = Inspector()
        before = self._generations.loose_refs(LIVE)
        new = self._generations.create()
        try:
            heads = self._transfer(new)
            for branch, commit in before.items():
                if commit in new and self._inspects(new, commit):
                    new.references.create(LIVE + branch, commit, force=True)
            accepted = self._accept(new, heads)
            self._generations.use(new)
        except BaseException:
            self._generations.drop(new)
            raise
        self._looked_over = True
        changed = accepted.refs != before
        return Fetched(
            remote=accepted.remote, changed=changed, refs=accepted.refs, refused=accepted.refused, rebuilt=rebuilt
        )

    def _transfer(self, repository: pygit2.Repository) -> dict[str, str]:
        """Fetch into the holding namespace; returns the remote's branches."""
        with failures(self.settings):
            trust(self.settings)
            remote = repository.remotes.create_anonymous(self.settings.url)
            try:
                self._download(remote)
            except pygit2.GitError:
                # A branch `a` in our way of a new `a/b`: what is gone goes first. Anything else fails again.
                if not _prune(repository, remote):
                    raise
                self._download(remote)
            if not any(head.name and head.name.startswith("refs/heads/") for head in remote.list_heads(connect=False)):
                raise Refusal("the remote has no branch", retryable=True)
            _prune(repository, remote)
            return _refs(repository, FETCHED + "heads/")

    def _download(self, remote: pygit2.Remote) -> None:
        callbacks = Callbacks(self.settings)
        remote.fetch(_REFSPECS, callbacks=callbacks, prune=FetchPrune.NO_PRUNE, proxy=True)

    def _accept(self, repository: pygit2.Repository, heads: Mapping[str, str]) -> Fetched:
        before = _refs(repository, LIVE)
        refused: list[Refused] = []
        kept = {base_branch(base, before) for base in self._bases}
        for branch in before.keys() - heads.keys():
            if branch in kept:
                refused.append(Refused(branch=branch, reason="it has vanished from the remote"))
            else:
                repository.references.delete(LIVE + branch)
        for branch, commit in heads.items():
            if commit == before.get(branch):
                continue
            reason = self._objection(repository, commit, before.get(branch))
            if reason is None:
                reason = _set(repository, LIVE + branch, commit)
            if reason is not None:
                refused.append(Refused(branch=branch, reason=reason))
        after = _refs(repository, LIVE)
        if not after:
            reason = f"no branch can be used: {refused[0].branch}: {refused[0].reason}" if refused else "no branch"
            raise FetchFailed(self.settings.name, reason, retryable=True)
        return Fetched(
            remote=self.settings.name,
            changed=after != before,
            refs=after,
            refused=tuple(sorted(refused, key=lambda each: each.branch)),
        )

    def _objection(self, repository: pygit2.Repository, commit: str, before: str | None) -> str | None:
        """Why `commit` cannot take the place of `before`; None when it can."""
        try:
            found = _object(repository, commit)
            if not isinstance(found, pygit2.Commit):
                return "it is no commit"
            self._inspector.inspect(repository, found)
            if before is None or self.settings.allow_rewind or repository.descendant_of(commit, before):
                return None
        except BadTree as error:
            return str(error)
        except _UNREADABLE as error:
            return f"commit {commit[:8]} is not complete: {error}"
        return (
            f"it was set back or force-pushed: {commit[:8]} does not contain {before[:8]}, which stays live; "
            "push a commit that contains it, or set `allow_rewind`"
        )

    def _is_whole(self, repository: pygit2.Repository) -> bool:
        """Whether all that is live can be read."""
        self._inspector = Inspector()
        try:
            live = self._live(repository)
            whole = all(self._inspects(repository, commit) for commit in live.values())
            if self._generations.damaged:
                whole = whole and all(_blobs_read(repository, commit) for commit in live.values())
        except _UNREADABLE:
            return False
        if whole:
            self._looked_over = True
            self._generations.clear_damaged()
        return whole

    def _live(self, repository: pygit2.Repository) -> dict[str, str]:
        """The live branches. OSError when one is there and cannot be read: libgit2 would pass over it in silence,
        and an environment would be gone.
        """
        files = self._generations.ref_files(LIVE)
        live = _refs(repository, LIVE)
        for path in (path for name, path in files.items() if name not in live):
            if path.exists():
                raise OSError(f"{path} cannot be read")
        return live

    def _inspects(self, repository: pygit2.Repository, commit: str) -> bool:
        try:
            found = _object(repository, commit)
            if isinstance(found, pygit2.Commit):
                self._inspector.inspect(repository, found)
                return True
        except (BadTree, *_UNREADABLE):
            pass
        return False


def base_branch(base: str | None, branches: Collection[str]) -> str | None:
    """The branch that is the saltenv `base`: the one that is set, or the first of `main` and `master` there is."""
    candidates = DEFAULT_BASES if base is None else (base,)
    return next((branch for branch in candidates if branch in branches), None)


def _refs(repository: pygit2.Repository, prefix: str) -> dict[str, str]:
    """Name below `prefix` -> id."""
    return {
        reference.name.removeprefix(prefix): str(reference.target)
        for reference in repository.references.iterator()
        if reference.name.startswith(prefix)
    }


def _object(repository: pygit2.Repository, oid: str | pygit2.Oid) -> object:
    """The object of this id, of whatever kind it is."""
    return repository[oid]


def _set(repository: pygit2.Repository, name: str, commit: str) -> str | None:
    try:
        repository.references.create(name, commit, force=True)
    except _UNREADABLE as error:
        return f"its name cannot be used: {error}"
    return None


def _prune(repository: pygit2.Repository, remote: pygit2.Remote) -> bool:
    """Remove from the holding namespace what the remote has no more; whether there was any."""
    names = {head.name.removeprefix("refs/") for head in remote.list_heads(connect=False) if head.name}
    gone = [name for name in _refs(repository, FETCHED) if name not in names]
    for name in gone:
        repository.references.delete(FETCHED + name)
    return bool(gone)


def _blobs_read(repository: pygit2.Repository, commit: str) -> bool:
    """Whether every blob of the commit can be read; looks at each content once."""
    seen: set[pygit2.Oid] = set()
    waiting: list[pygit2.Oid] = [pygit2.Oid(hex=commit)]
    while waiting:
        found = _object(repository, waiting.pop())
        if isinstance(found, pygit2.Commit):
            waiting.append(found.tree_id)
        elif isinstance(found, pygit2.Tree):
            fresh = {entry.id for entry in found if entry.filemode != FileMode.COMMIT} - seen
            seen |= fresh
            waiting.extend(fresh)
    return True
