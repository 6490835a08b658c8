"""Which commit of a branch touched a file last: for previews, which tell where a change comes from.

Called by `Source`. A branch decides how long its history is and how much each commit changes, so both have a bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import pygit2
from pygit2.enums import SortMode

MOST_COMMITS = 100
"""Commits that are looked at, the newest first."""
MOST_PATHS = 20_000
"""Paths that these may touch; after more, no further commit is looked at."""


def newest_commits(repository: pygit2.Repository, base: str, head: str) -> dict[str, str]:
    """Path -> short id and subject of the newest commit that touched it, of those in `head` and not in `base`.

    Merges are passed over: what they bring has commits of its own.

    Args:
        repository: has both.
        base: whole id of a commit.
        head: whole id of a commit.

    Raises:
        pygit2.GitError, KeyError: a commit cannot be read.
    """
    found: dict[str, str] = {}
    seen = 0
    for commit in _commits(repository, base, head):
        if len(commit.parents) > 1:
            continue
        tree = commit.parents[0].tree if commit.parents else None
        diff = commit.tree.diff_to_tree(swap=True) if tree is None else tree.diff_to_tree(commit.tree)
        subject = commit.message.strip().split("\n", 1)[0][:200]
        for delta in diff.deltas:
            seen += 1
            found.setdefault(delta.new_file.path, f"{str(commit.id)[:8]} {subject}".strip())
        if seen > MOST_PATHS:
            break
    return found


def _commits(repository: pygit2.Repository, base: str, head: str) -> Iterator[pygit2.Commit]:
    walker = repository.walk(head, SortMode.TOPOLOGICAL | SortMode.TIME)
    walker.hide(base)
    for number, commit in enumerate(walker):
        if number >= MOST_COMMITS:
            return
        yield commit
