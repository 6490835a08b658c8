"""What merging a commit into another would make: for previews of branches, as a forge would merge them.

Called by `gitfs.fetching.worker`, because a branch decides how much there is to merge. Writes objects into the mirror
that no ref names: garbage collection drops them when no snapshot shows them any more.
"""

from __future__ import annotations

from dataclasses import dataclass

import pygit2
from pygit2.enums import MergeFlag

MOST_CONFLICTS = 20
"""Paths that are named."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeResult:
    """What a merge of two commits gives."""

    commit: str
    """With the files of both; the head itself where the merge is a fast-forward. Empty when they conflict."""
    ancestor: str
    """Where the head has branched off; empty when they have nothing in common."""
    conflicts: tuple[str, ...] = ()
    """Paths, the first `MOST_CONFLICTS`."""


def merge(repository: pygit2.Repository, base: str, head: str) -> MergeResult:
    """Merge a commit into another without any ref or file being changed; equal commits give an equal one.

    Args:
        repository: has both.
        base: whole id of the commit that is merged into.
        head: whole id of the commit that is merged.

    Raises:
        pygit2.GitError, KeyError: a commit cannot be read.
    """
    ancestor: pygit2.Oid | None = repository.merge_base(base, head)
    if ancestor is None:
        return MergeResult(commit="", ancestor="")
    if str(ancestor) in (base, head):
        return MergeResult(commit=head if str(ancestor) == base else base, ancestor=str(ancestor))
    # Without renames: finding them takes long where a branch moves much, and a renamed file is a conflict then.
    index = repository.merge_commits(base, head, flags=MergeFlag(0))
    if index.conflicts is not None:
        return MergeResult(commit="", ancestor=str(ancestor), conflicts=_paths(index))
    theirs = repository[head].peel(pygit2.Commit)
    made = repository.create_commit(
        None, theirs.author, theirs.committer, theirs.message, index.write_tree(repository), [base, head]
    )
    return MergeResult(commit=str(made), ancestor=str(ancestor))


def _paths(index: pygit2.Index) -> tuple[str, ...]:
    paths: dict[str, None] = {}
    for sides in index.conflicts or ():
        paths.update((side.path, None) for side in sides if side is not None)
        if len(paths) >= MOST_CONFLICTS:
            break
    return tuple(paths)[:MOST_CONFLICTS]
