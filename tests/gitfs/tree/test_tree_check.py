from __future__ import annotations

import pygit2
import pytest
from pygit2.enums import FileMode

from gitfs.errors import BadTree
from gitfs.limits import GitLimits
from gitfs.tree.tree_check import TreeChecker

WHO = pygit2.Signature("Mallory", "mallory@example.org")


class Counting:
    """A repository, and the ids of the objects whose sizes were asked for."""

    def __init__(self, repository):
        self._repository = repository
        self.asked = []

    def __getitem__(self, oid):
        return self._repository[oid]

    @property
    def odb(self):
        return self

    def read_header(self, oid):
        self.asked.append(oid)
        return self._repository.odb.read_header(oid)


@pytest.fixture
def repository(tmp_path):
    return pygit2.init_repository(str(tmp_path / "bare.git"), bare=True)


def commit_of(repository, files):
    """A commit whose root has these names -> blob ids."""
    builder = repository.TreeBuilder()
    for name, oid in files.items():
        builder.insert(name, oid, FileMode.BLOB)
    return repository[repository.create_commit(None, WHO, WHO, "x", builder.write(), [])]


def test_a_file_under_many_names_is_looked_at_once(repository):
    blob = repository.create_blob(b"one")
    counting = Counting(repository)
    assert TreeChecker().inspect(counting, commit_of(repository, {f"f{at}": blob for at in range(5000)})) == 5000
    assert counting.asked == [blob]


def test_each_of_several_files_is_looked_at(repository):
    small, large = repository.create_blob(b"one"), repository.create_blob(b"x" * 200)
    commit = commit_of(repository, {"a": small, "b": small, "c": large})
    with pytest.raises(BadTree, match="'c' has 200 bytes"):
        TreeChecker(GitLimits(file_bytes=100)).inspect(repository, commit)
