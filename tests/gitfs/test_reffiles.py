from __future__ import annotations

import pygit2
import pytest

from gitfs.nearby import Nearby
from gitfs.reffiles import RefFiles


def as_git_sees(remote):
    lines = remote.run("--git-dir", str(remote.bare), "for-each-ref", "--format=%(refname) %(objectname)").splitlines()
    return dict(line.split() for line in lines)


def test_single_and_packed_refs_are_what_git_says(remote):
    remote.commit({"top.sls": "one"})
    files = RefFiles(remote.bare)
    for number in range(3):
        remote.commit({"top.sls": str(number)}, branch=f"feature/{number}")
        remote.run("tag", f"v{number}")
        remote.run("push", "-q", "origin", f"v{number}")
        assert files.below("")[0] == as_git_sees(remote)
        remote.run("--git-dir", str(remote.bare), "pack-refs", "--all")
        assert files.below("")[0] == as_git_sees(remote)
        assert files.loose == 0
    remote.commit({"top.sls": "moved"}, branch="feature/1")
    remote.run("push", "-q", "origin", ":feature/0")
    assert files.below("")[0] == as_git_sees(remote)
    heads, tags = files.below("refs/heads/", "refs/tags/")
    assert set(heads) == {"main", "feature/1", "feature/2"}
    assert set(tags) == {"v0", "v1", "v2"}


@pytest.mark.parametrize("name", ["packed-refs", "refs/heads/main"])
def test_a_ref_that_cannot_be_read_is_an_error(remote, name):
    remote.commit({"top.sls": "one"})
    (remote.bare / name).write_text("garbage\n")
    with pytest.raises(OSError, match="cannot be read"):
        RefFiles(remote.bare).below("refs/")


def test_what_is_missing_is_copied_and_no_more(remote, tmp_path):
    remote.commit({f"d{number}/f": str(number) for number in range(20)})
    into = pygit2.init_repository(str(tmp_path / "mirror"), bare=True)
    near = Nearby(remote.bare)
    assert near.copy(into, near.refs().values())
    before = set(into)
    second = remote.commit({"d1/f": "other"})
    assert near.copy(into, near.refs().values())
    assert len(set(into) - before) == 4  # the commit, two trees, the file
    assert into[second].peel(pygit2.Tree)["d1/f"].data == b"other"


def test_what_is_out_of_the_ordinary_is_left_to_git(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    into = pygit2.init_repository(str(tmp_path / "mirror"), bare=True)
    assert Nearby(tmp_path / "nothing").refs() is None
    assert not Nearby(remote.bare).copy(into, ["a" * 40])
    remote.run("tag", "-a", "v1", "-m", "one")
    remote.run("push", "-q", "origin", "v1")
    assert not Nearby(remote.bare).copy(into, [remote.run("rev-parse", "v1")])
    remote.run("--git-dir", str(remote.bare), "symbolic-ref", "refs/heads/other", "refs/heads/main")
    assert Nearby(remote.bare).refs() is None
