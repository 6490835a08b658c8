"""Looks at every object of a commit's tree before the commit goes live.

Called by `gitfs.mirror.mirror`: a commit is accepted only when all its files are there and when it is of a size that
can be served. Costs nothing for the parts of a tree that were looked at before.
"""

from __future__ import annotations

import pygit2
from cachetools import LRUCache
from pygit2.enums import ObjectType

from gitfs.errors import BadTree
from gitfs.limits import GitLimits

_REMEMBERED = 100_000
_SHOWN = 5
"""Folders of a path that an error names."""
_NO_NAMES = (b"", b".", b"..", None)
"""git writes no such names into a tree; somebody else may."""


class TreeChecker:
    """Remembers the trees that it found complete, by id."""

    def __init__(self, limits: GitLimits | None = None) -> None:
        self._limits = limits or GitLimits()
        self._files: LRUCache[pygit2.Oid, int] = LRUCache(_REMEMBERED)

    def inspect(self, repository: pygit2.Repository, commit: pygit2.Commit) -> int:
        """Number of files of the commit; KeyError or GitError where an object is missing, BadTree for a bad one."""
        return self._count(repository, commit.tree, ())

    def _count(self, repository: pygit2.Repository, tree: pygit2.Tree, at: tuple[str, ...]) -> int:
        known = self._files.get(tree.id)
        if known is not None:
            return known
        if len(at) > self._limits.tree_depth:
            where = "/".join(at[:_SHOWN])
            raise BadTree(f"folders are nested deeper than {self._limits.tree_depth}, below {where}", "tree-depth")
        count = 0
        checked: set[pygit2.Oid] = set()  # a tree of few bytes names one file a hundred thousand times
        # Folders that repeat are counted by their sum, so a tree of few objects and 2**40 files is found out at once.
        for entry in tree:
            if (name := entry.raw_name) in _NO_NAMES or b"/" in (name or b""):
                raise BadTree(f"a file or folder is called {entry.name!r}, which would lead out of the tree")
            kind = entry.type  # a number; `filemode` makes an enum each time
            if kind == ObjectType.TREE:
                inner = repository[entry.id]
                if not isinstance(inner, pygit2.Tree):
                    raise BadTree(f"{entry.name!r} is said to be a folder, and is none")
                count += self._count(repository, inner, (*at, entry.name or ""))
            elif kind != ObjectType.COMMIT:
                if entry.id not in checked:
                    self._check_file(repository, entry)
                    checked.add(entry.id)
                count += 1
        if count > self._limits.tree_files:
            where = f" in {'/'.join(at[:_SHOWN])}" if at else ""
            raise BadTree(f"more than {self._limits.tree_files} files{where}", "tree-files")
        self._files[tree.id] = count
        return count

    def _check_file(self, repository: pygit2.Repository, entry: pygit2.Object) -> None:
        """KeyError where the object is missing."""
        try:
            size = repository.odb.read_header(entry.id)[1]
        except KeyError:
            raise KeyError(f"object {entry.id} is missing") from None
        if size > self._limits.file_bytes:
            what = f"{entry.name!r} has {size} bytes"
            raise BadTree(f"{what}; {self._limits.file_bytes} are taken", "file-bytes")
