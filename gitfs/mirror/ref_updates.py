"""Moves live refs to fetched commits as the policy allows: one ref at a time, in the repository of one mirror.

Called by `gitfs.mirror.mirror` with the right to write. Collects the facts that `gitfs.config.live_policy`
decides on. Fetches nothing of the remote itself: `Completion`s fetch LFS contents and submodules.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import pygit2
from pygit2.enums import ObjectType

from gitfs.config.live_policy import Candidate, LivePolicy, objection
from gitfs.errors import BadTree
from gitfs.limits import GitLimits
from gitfs.mirror.refdb import move_ref
from gitfs.mirror.signatures import signer_of
from gitfs.tree.saltenvs import base_branch
from gitfs.tree.tree_check import TreeChecker
from options.limits import CountRefusal, uncounted

FETCHED = "refs/saltern/fetched/"
LIVE = "refs/saltern/live/"
UNREADABLE = (pygit2.GitError, KeyError, ValueError, OSError)

_SERVED = ("heads/", "tags/")


class Completion(Protocol):
    """Fetches what a commit needs before it can be served: LFS contents, submodules."""

    in_repository: bool
    """Whether what it brings is kept in the repository, and is lost with it."""

    def is_there(self, repository: pygit2.Repository, commit: str) -> bool:
        """Whether all of it is there; without any network. BadTree when it may not be had at all."""

    def is_damaged(self) -> bool:
        """Whether a reader has reported damage of what was brought; costs next to nothing."""

    def bring(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Bring it over the network, however long that takes, without the right to write to the repository.

        Why that was not possible, or None. BadTree as above.
        """

    def store(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Put what was brought into the repository, with the right to write; why that was not possible, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefRefused:
    """A branch or tag that stays where it was, and why."""

    branch: str
    reason: str

    def __str__(self) -> str:
        return f"{self.branch}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AcceptedRefs:
    """What came of the refs that were fetched."""

    live: Mapping[str, str]
    """`heads/...` and `tags/...` -> id, as they are live now."""
    refused: Sequence[RefRefused] = ()
    waiting: Mapping[str, str] = field(default_factory=dict)
    """`heads/...` and `tags/...` -> commit that may go live once what it needs elsewhere was brought, or is live and
    needs it again."""


class RefUpdater:
    """Decides for one mirror which fetched commits go live."""

    def __init__(
        self,
        policy: LivePolicy,
        pinned: Collection[str | None],
        seen_file: Path,
        clock: Callable[[], float],
        completions: Sequence[Completion] = (),
        limits: GitLimits | None = None,
        on_refusal: CountRefusal = uncounted,
    ) -> None:
        self._limits = limits or GitLimits()
        self._on_refusal = on_refusal
        self._policy = policy
        self._pinned = tuple(pinned)
        self._seen_file = seen_file
        self._clock = clock
        self._completions = tuple(completions)
        self.inspector = TreeChecker(self._limits)
        self._complete: set[str] = set()

    def accept(
        self, repository: pygit2.Repository, fetched: Mapping[str, str], before: Mapping[str, str]
    ) -> AcceptedRefs:
        """Move the live refs to all that may go live and needs nothing that is not there. Uses no network.

        Args:
            repository: the mirror.
            fetched: `heads/…` and `tags/…` -> id, as the remote has them.
            before: the same, as they are live.
        """
        after = dict(before)
        refused: list[RefRefused] = []
        pinned = self._pinned_refs(before)
        for name in sorted(before.keys() - fetched.keys()):
            if name in pinned:
                refused.append(RefRefused(branch=_short(name), reason="it has vanished from the remote"))
            else:
                repository.references.delete(LIVE + name)
                del after[name]
        fresh = (item for item in fetched.items() - before.items() if item[0].startswith(_SERVED))
        first = self._pinned_refs(fetched)
        news = dict(sorted(fresh, key=lambda item: (item[0] not in first, item)))
        seen = self._seen(news)
        waiting = self._damaged(repository, {name: oid for name, oid in after.items() if name not in news})
        for name, oid in news.items():
            reason = self._objection(repository, name, oid, before.get(name), seen.get(name, 0.0))
            if reason is None:
                commit = str(commit_at(repository, oid).id)
                try:
                    if not self.is_complete(repository, commit):
                        waiting[name] = commit
                        continue
                except BadTree as error:
                    reason = self._told(error)
            if reason is None and name not in before and len(after) >= self._limits.live_refs:
                self._on_refusal("live-refs")
                reason = f"{len(after)} branches and tags are live already (limit live-refs)"
            if reason is None:
                reason = _set(repository, LIVE + name, oid, moves=name in before)
            if reason is None:
                after[name] = oid
            else:
                refused.append(RefRefused(branch=_short(name), reason=reason))
        return AcceptedRefs(live=after, refused=refused, waiting=waiting)

    def inspects(self, repository: pygit2.Repository, oid: str) -> bool:
        """Whether all files of the commit of this id exist."""
        try:
            self.inspector.inspect(repository, commit_at(repository, oid))
        except (BadTree, *UNREADABLE):
            return False
        return True

    def forget(self) -> None:
        """Check all commits again."""
        self.inspector = TreeChecker(self._limits)
        self._complete.clear()

    def _damaged(self, repository: pygit2.Repository, live: Mapping[str, str]) -> dict[str, str]:
        """Live refs -> commits that need again what they had brought, since it cannot be read any more."""
        found: dict[str, str] = {}
        if self._is_damaged():
            for name, oid in live.items():
                commit = str(commit_at(repository, oid).id)
                with suppress(BadTree):
                    if not self.is_complete(repository, commit):
                        found[name] = commit
        return found

    def _is_damaged(self) -> bool:
        """Whether what was brought may be damaged; then no commit counts as complete that did before."""
        damaged = any(each.is_damaged() for each in self._completions)
        if damaged:
            self._complete.clear()
        return damaged

    def _pinned_refs(self, refs: Mapping[str, str]) -> set[str]:
        heads = [ref.removeprefix("heads/") for ref in refs if ref.startswith("heads/")]
        return {f"heads/{base_branch(pinned, heads)}" for pinned in self._pinned}

    def _objection(
        self, repository: pygit2.Repository, name: str, oid: str, before: str | None, seen: float
    ) -> str | None:
        try:
            commit = commit_at(repository, oid)
        except pygit2.InvalidSpecError:
            return "it is no commit"
        except UNREADABLE as error:
            return f"{oid[:8]} is not complete: {error}"
        if fault := self._fault(repository, commit):
            return fault
        try:
            candidate = self._candidate(repository, name, oid, commit, before, seen)
        except UNREADABLE as error:
            return f"commit {str(commit.id)[:8]} is not complete: {error}"
        return objection(self._policy, candidate, self._clock())

    def _fault(self, repository: pygit2.Repository, commit: pygit2.Commit) -> str | None:
        """Why the files of a commit cannot be shown, or None."""
        try:
            self.inspector.inspect(repository, commit)
        except BadTree as error:
            return self._told(error)
        except UNREADABLE as error:
            return f"commit {str(commit.id)[:8]} is not complete: {error}"
        return None

    def is_complete(self, repository: pygit2.Repository, commit: str) -> bool:
        """Whether all that a commit needs elsewhere is there; without any network. BadTree when it may not be had."""
        self._is_damaged()
        if commit not in self._complete and all(each.is_there(repository, commit) for each in self._completions):
            self._complete.add(commit)
        return commit in self._complete

    def _told(self, error: BadTree) -> str:
        """A refusal in words; one by a limit is counted."""
        if error.limit:
            self._on_refusal(error.limit)
        return str(error)

    def is_known(self, commit: str) -> bool:
        """Whether a commit was found complete before."""
        return not self._is_damaged() and commit in self._complete

    def bring(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Bring what a commit needs elsewhere, without the right to write; why that was not possible, or None."""
        try:
            # Checked here too: commits of a preview have passed no policy, and anybody may have written them.
            if fault := self._fault(repository, commit_at(repository, commit)):
                return fault
            found = (each.bring(repository, commit) for each in self._completions)
            return next((why for why in found if why), None)
        except BadTree as error:
            return self._told(error)
        except UNREADABLE as error:
            return f"commit {commit[:8]} is not complete: {error}"

    def restore(self, new: pygit2.Repository, commit: str) -> str | None:
        """Have in a new repository what the one before held for a commit; why that was not possible, or None."""
        try:
            own = [each for each in self._completions if each.in_repository]
            return next((why for each in own if (why := each.bring(new, commit) or each.store(new, commit))), None)
        except BadTree as error:
            return self._told(error)

    def store(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Put what `bring` brought into the repository; why that was not possible, or None."""
        found = (each.store(repository, commit) for each in self._completions)
        return next((why for why in found if why), None)

    def _candidate(
        self,
        repository: pygit2.Repository,
        name: str,
        oid: str,
        commit: pygit2.Commit,
        before: str | None,
        seen: float,
    ) -> Candidate:
        old = None if before is None else commit_at(repository, before).id
        contains = old is None or old == commit.id or _is_after(repository, commit, old)
        signer, fault = None, ""
        if self._policy.rule_of(_short(name)) is not None:
            signer, fault = signer_of(repository, oid, self._policy)
        return Candidate(
            name=_short(name),
            commit=str(commit.id),
            parents=len(commit.parent_ids),
            before=None if old is None else str(old),
            contains_before=contains,
            seen=seen,
            signer=signer,
            fault=fault,
        )

    def _seen(self, news: Mapping[str, str]) -> dict[str, float]:
        """When each of these refs was first seen at its commit; kept on disk, so that a restart does not reset it."""
        if not self._policy.minimum_age:
            return {}
        known: dict[str, list[object]] = {}
        with suppress(OSError, ValueError):
            known = json.loads(self._seen_file.read_text())
        now = self._clock()
        found = {
            name: known[name] if name in known and known[name][0] == oid else [oid, now] for name, oid in news.items()
        }
        fresh = self._seen_file.with_name("seen.new")
        fresh.write_text(json.dumps(found))
        fresh.replace(self._seen_file)
        return {name: float(str(when)) for name, (_, when) in found.items()}


def commit_at(repository: pygit2.Repository, oid: str) -> pygit2.Commit:
    """The commit that an id of a commit or tag leads to; InvalidSpecError when it is something else."""
    while (found := repository[oid]).type == ObjectType.TAG:
        oid = str(found.peel(pygit2.Tag).target)
    if found.type != ObjectType.COMMIT:
        raise pygit2.InvalidSpecError(f"{oid} is no commit")
    return found.peel(pygit2.Commit)


def _is_after(repository: pygit2.Repository, commit: pygit2.Commit, before: pygit2.Oid) -> bool:
    """Whether `before` is in the history of a commit, as far as there is one: that of a shallow remote ends early."""
    with suppress(*UNREADABLE):
        return repository.descendant_of(commit.id, before)
    seen = {commit.id}
    waiting = [commit.id]
    while waiting:
        parents = [oid for oid in commit_at(repository, str(waiting.pop())).parent_ids if oid in repository]
        waiting.extend(oid for oid in parents if oid not in seen)
        seen.update(parents)
    return before in seen


def _short(name: str) -> str:
    return name.partition("/")[2]


def _set(repository: pygit2.Repository, name: str, oid: str, *, moves: bool) -> str | None:
    try:
        if moves:
            move_ref(repository.path, name, oid)
        else:
            repository.references.create(name, oid, force=True)
    except UNREADABLE as error:
        return f"its name cannot be used: {error}"
    return None
