"""Looks at every object of a commit's tree before the commit goes live.

Called by `gitfs.mirror.mirror`: a commit is accepted only when all its files are there and when it is of a size that
can be served. Costs nothing for the parts of a tree that were looked at before.
"""

from __future__ import annotations

import pygit2
from cachetools import LRUCache
from pygit2.enums import FileMode

from gitfs.errors import BadTree

MOST_FILES = 500_000
MOST_DEPTH = 128
_REMEMBERED = 100_000
_SHOWN = 5
"""Folders of a path that an error names."""
_NO_NAMES = (b"", b".", b"..", None)
"""git writes no such names into a tree; somebody else may."""


class TreeChecker:
    """Remembers the trees that it found complete, by id."""

    def __init__(self) -> None:
        self._files: LRUCache[pygit2.Oid, int] = LRUCache(_REMEMBERED)

    def inspect(self, repository: pygit2.Repository, commit: pygit2.Commit) -> int:
        """Number of files of the commit; KeyError or GitError where an object is missing, BadTree for a bad one."""
        return self._count(repository, commit.tree, ())

    def _count(self, repository: pygit2.Repository, tree: pygit2.Tree, at: tuple[str, ...]) -> int:
        known = self._files.get(tree.id)
        if known is not None:
            return known
        if len(at) > MOST_DEPTH:
            raise BadTree(f"folders are nested deeper than {MOST_DEPTH}, below {'/'.join(at[:_SHOWN])}")
        count = 0
        # Folders that repeat are counted by their sum, so a tree of few objects and 2**40 files is found out at once.
        for entry in tree:
            if (name := entry.raw_name) in _NO_NAMES or b"/" in (name or b""):
                raise BadTree(f"a file or folder is called {entry.name!r}, which would lead out of the tree")
            if entry.filemode == FileMode.TREE:
                inner = repository[entry.id]
                if not isinstance(inner, pygit2.Tree):
                    raise BadTree(f"{entry.name!r} is said to be a folder, and is none")
                count += self._count(repository, inner, (*at, entry.name or ""))
            elif entry.filemode != FileMode.COMMIT:
                if entry.id not in repository:
                    raise KeyError(f"object {entry.id} is missing")
                count += 1
        if count > MOST_FILES:
            where = f" in {'/'.join(at[:_SHOWN])}" if at else ""
            raise BadTree(f"more than {MOST_FILES} files{where}")
        self._files[tree.id] = count
        return count
