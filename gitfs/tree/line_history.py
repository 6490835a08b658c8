"""Which commit last changed lines of a file, followed back through the history of a mirror.

Called for `saltern blame`. A branch decides how long its history is and how large its files are, so both have a bound.
A file that was renamed begins with the commit that gave it its name.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import pygit2

MOST_COMMITS = 20_000
"""Commits that are looked at for one file."""
MOST_SECONDS = 5.0
"""For one file."""
MOST_BYTES = 1024 * 1024
"""Of a file; a larger one has no history here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LineCommit:
    """The commit that wrote a line as it is."""

    commit: str
    author: str
    subject: str
    at: float
    """When it was committed, in seconds since the epoch."""


def commits_of_lines(mirror: str, commit: str, path: str, lines: Collection[int]) -> dict[int, LineCommit]:
    """Line -> the commit that wrote it; those that were not found within the bounds are missing.

    Args:
        mirror: path of the bare repository.
        commit: in which the lines are.
        path: of the file in it.
        lines: counted from 1.
    """
    try:
        repository = pygit2.Repository(mirror)
        return _followed(repository, repository[commit].peel(pygit2.Commit), path, lines)
    except (pygit2.GitError, KeyError, ValueError):
        return {}


def _followed(
    repository: pygit2.Repository, head: pygit2.Commit, path: str, lines: Collection[int]
) -> dict[int, LineCommit]:
    found: dict[int, LineCommit] = {}
    deadline, looked_at = time.monotonic() + MOST_SECONDS, 0
    waiting: list[tuple[pygit2.Commit, dict[int, int]]] = [(head, {line: line for line in lines})]
    while waiting and looked_at < MOST_COMMITS and time.monotonic() < deadline:
        commit, left = waiting.pop()
        looked_at += 1
        blob = _blob(commit, path)
        if blob is None or blob.size > MOST_BYTES:
            continue
        for parent in _parents(repository, commit):
            older = _blob(parent, path)
            if older is None:
                continue
            same = left if older.id == blob.id else _unchanged(older, blob, left)
            if same:
                waiting.append((parent, same))
                left = {line: at for line, at in left.items() if line not in same}
            if not left:
                break
        found.update(dict.fromkeys(left, _told(commit)) if left else {})
    return found


def _parents(repository: pygit2.Repository, commit: pygit2.Commit) -> Iterator[pygit2.Commit]:
    for oid in commit.parent_ids:
        if oid in repository:  # the history of a mirror may begin later than that of its remote
            yield repository[oid].peel(pygit2.Commit)


def _blob(commit: pygit2.Commit, path: str) -> pygit2.Blob | None:
    try:
        found = commit.tree[path]
    except KeyError:
        return None
    return found if isinstance(found, pygit2.Blob) else None


def _unchanged(old: pygit2.Blob, new: pygit2.Blob, lines: Mapping[int, int]) -> dict[int, int]:
    """Those of the lines that the old content has, too: line as it was asked for -> line of the old content."""
    hunks = []
    for each in old.diff(new).hunks:
        inside = {one.new_lineno: one.old_lineno for one in each.lines if one.origin == " "}
        # Of a part that was only deleted, the line before it is named.
        first = each.new_start if each.new_lines else each.new_start + 1
        hunks.append(_Hunk(first, each.new_lines, each.old_lines - each.new_lines, inside))
    return {line: before for line, now in lines.items() if (before := _line_before(hunks, now))}


class _Hunk(NamedTuple):
    first: int
    """Line of the new content."""
    lines: int
    more: int
    """Lines that the old content has more."""
    same: Mapping[int, int]
    """Line of the new content -> the same line of the old."""


def _line_before(hunks: Sequence[_Hunk], line: int) -> int:
    """The line of the old content; 0 for one that is new."""
    moved = 0
    for hunk in hunks:
        if line < hunk.first:
            break
        if line < hunk.first + hunk.lines:
            return hunk.same.get(line, 0)
        moved += hunk.more
    return line + moved


def _told(commit: pygit2.Commit) -> LineCommit:
    lines = commit.raw_message.decode(errors="replace").strip().splitlines()
    name = commit.author.raw_name.decode(errors="replace") if commit.author.raw_name else ""
    return LineCommit(
        commit=str(commit.id), author=name, subject=lines[0][:200] if lines else "", at=float(commit.commit_time)
    )
