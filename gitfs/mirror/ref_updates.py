"""Takes what was fetched, and moves live what the policy allows: one ref at a time, in one mirror's repository.

Called by `gitfs.mirror.mirror` with the right to write. Finds out what `gitfs.config.live_policy` decides about;
fetches nothing of the remote itself, but has `Completion`s bring what a commit needs beside its own objects.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pygit2
from pygit2.enums import ObjectType

from gitfs.config.live_policy import Candidate, LivePolicy, objection
from gitfs.errors import BadTree
from gitfs.mirror.refdb import move_ref
from gitfs.mirror.signatures import signer_of
from gitfs.tree.saltenvs import base_branch
from gitfs.tree.tree_check import TreeChecker

FETCHED = "refs/saltern/fetched/"
LIVE = "refs/saltern/live/"
UNREADABLE = (pygit2.GitError, KeyError, ValueError, OSError)

_SERVED = ("heads/", "tags/")


class Completion(Protocol):
    """Something that a commit may need before it can be served: contents kept elsewhere, other repositories."""

    writes: bool
    """Whether it writes to the repository, which then has to be ours to write."""

    def complete(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Bring it; why that was not possible, or None."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RefRefused:
    """A branch or tag that stays where it was, and why."""

    branch: str
    reason: str

    def __str__(self) -> str:
        return f"{self.branch}: {self.reason}"


class RefUpdater:
    """The gate between what is fetched and what is live, for one mirror."""

    def __init__(
        self,
        policy: LivePolicy,
        pinned: Collection[str | None],
        seen_file: Path,
        clock: Callable[[], float],
        completions: Sequence[Completion] = (),
    ) -> None:
        self._policy = policy
        self._pinned = tuple(pinned)
        self._seen_file = seen_file
        self._clock = clock
        self._completions = tuple(completions)
        self.inspector = TreeChecker()
        self._complete: set[str] = set()

    def accept(
        self, repository: pygit2.Repository, fetched: Mapping[str, str], before: Mapping[str, str]
    ) -> tuple[dict[str, str], list[RefRefused]]:
        """Move the live refs; (what is live now, what was refused).

        Args:
            repository: the mirror.
            fetched: `heads/…` and `tags/…` -> id, as the remote has them.
            before: the same, as they are live.
        """
        after = dict(before)
        refused: list[RefRefused] = []
        for name in sorted(before.keys() - fetched.keys()):
            if self._is_pinned(name, before):
                refused.append(RefRefused(branch=_short(name), reason="it has vanished from the remote"))
            else:
                repository.references.delete(LIVE + name)
                del after[name]
        news = dict(sorted(item for item in fetched.items() - before.items() if item[0].startswith(_SERVED)))
        seen = self._seen(news)
        for name, oid in news.items():
            reason = self._objection(repository, name, oid, before.get(name), seen.get(name, 0.0))
            if reason is None:
                reason = _set(repository, LIVE + name, oid, moves=name in before)
            if reason is None:
                after[name] = oid
            else:
                refused.append(RefRefused(branch=_short(name), reason=reason))
        return after, sorted(refused, key=lambda each: each.branch)

    def inspects(self, repository: pygit2.Repository, oid: str) -> bool:
        """Whether all files of what this id leads to are there."""
        try:
            self.inspector.inspect(repository, commit_at(repository, oid))
        except (BadTree, *UNREADABLE):
            return False
        return True

    def forget(self) -> None:
        """Look at everything anew."""
        self.inspector = TreeChecker()
        self._complete.clear()

    def _is_pinned(self, name: str, before: Mapping[str, str]) -> bool:
        heads = [ref.removeprefix("heads/") for ref in before if ref.startswith("heads/")]
        return name in {f"heads/{base_branch(pinned, heads)}" for pinned in self._pinned}

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
        return objection(self._policy, candidate, self._clock()) or self.missing(repository, str(commit.id))

    def _fault(self, repository: pygit2.Repository, commit: pygit2.Commit) -> str | None:
        """Why the files of a commit cannot be shown, or None."""
        try:
            self.inspector.inspect(repository, commit)
        except BadTree as error:
            return str(error)
        except UNREADABLE as error:
            return f"commit {str(commit.id)[:8]} is not complete: {error}"
        return None

    def is_complete(self, commit: str) -> bool:
        """Whether `missing` has nothing to do for this commit."""
        return commit in self._complete

    def missing(self, repository: pygit2.Repository, commit: str) -> str | None:
        """Have what a commit needs to be shown; why that was not possible, or None."""
        if commit in self._complete:
            return None
        # Looked at here too: what is shown in a preview has passed no policy, and anybody may have written it.
        why = (
            self._fault(repository, commit_at(repository, commit))
            or self.missing_here(repository, commit)
            or self.missing_elsewhere(repository, commit)
        )
        if why is None:
            self._complete.add(commit)
        return why

    def missing_here(self, repository: pygit2.Repository, commit: str) -> str | None:
        """The part of `missing` for which the repository must be ours to write."""
        found = (each.complete(repository, commit) for each in self._completions if each.writes)
        return next((why for why in found if why), None)

    def missing_elsewhere(self, repository: pygit2.Repository, commit: str) -> str | None:
        """The part of `missing` that writes to other repositories only."""
        found = (each.complete(repository, commit) for each in self._completions if not each.writes)
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
        """When each of these was first seen where it is; kept on disk, so that a restart does not begin anew."""
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


def refs_below(repository: pygit2.Repository, prefix: str) -> dict[str, str]:
    """Name below `prefix` -> id."""
    return {
        reference.name.removeprefix(prefix): str(reference.target)
        for reference in repository.references.iterator()
        if reference.name.startswith(prefix)
    }


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
