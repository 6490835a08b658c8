from __future__ import annotations

import os

import pygit2
import pytest

from gitfs.mirror.local_remote import LocalRemote
from gitfs.mirror.refdb import RefFiles, move_ref
from gitfs.mirror.refwatch import RefWatch


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
    near = LocalRemote(remote.bare)
    assert near.copy(into, near.refs().values())
    before = set(into)
    second = remote.commit({"d1/f": "other"})
    assert near.copy(into, near.refs().values())
    assert len(set(into) - before) == 4  # the commit, two trees, the file
    assert into[second].peel(pygit2.Tree)["d1/f"].data == b"other"


def test_what_is_out_of_the_ordinary_is_left_to_git(remote, tmp_path):
    remote.commit({"top.sls": "one"})
    into = pygit2.init_repository(str(tmp_path / "mirror"), bare=True)
    assert LocalRemote(tmp_path / "nothing").refs() is None
    assert not LocalRemote(remote.bare).copy(into, ["a" * 40])
    remote.run("tag", "-a", "v1", "-m", "one")
    remote.run("push", "-q", "origin", "v1")
    tag = remote.run("rev-parse", "v1")
    assert LocalRemote(remote.bare).copy(into, [tag])
    assert into[tag].peel(pygit2.Tree)["top.sls"].data == b"one"
    remote.run("--git-dir", str(remote.bare), "symbolic-ref", "refs/heads/other", "refs/heads/main")
    assert LocalRemote(remote.bare).refs() is None


def test_a_watched_folder_is_read_as_git_sees_it_whatever_happens_in_it(remote):
    remote.commit({"top.sls": "one"})
    files = RefFiles(remote.bare, watched=True)
    git = ("--git-dir", str(remote.bare))
    head = remote.run("rev-parse", "HEAD")
    other = remote.commit({"top.sls": "two"})
    heads = remote.bare / "refs" / "heads"
    happenings = [
        lambda: remote.run(*git, "update-ref", "refs/heads/a", head),
        lambda: remote.run(*git, "update-ref", "refs/heads/a", other),
        lambda: remote.run(*git, "update-ref", "refs/heads/deep/er/b", head),
        lambda: remote.run(*git, "update-ref", "refs/heads/deep/er/b", other),
        lambda: (heads / "a").write_text(head + "\n"),  # in place, as go-git does it
        lambda: remote.run(*git, "update-ref", "-d", "refs/heads/a"),
        lambda: remote.run(*git, "update-ref", "refs/heads/a/under", head),
        lambda: remote.run(*git, "pack-refs", "--all"),
        lambda: remote.run(*git, "update-ref", "refs/heads/deep/er/b", head),
        lambda: remote.run(*git, "branch", "-m", "deep/er/b", "deep/er/c"),
        lambda: (heads / "deep").rename(heads / "moved"),
        lambda: remote.run(*git, "update-ref", "-d", "refs/heads/moved/er/c"),
    ]
    for number, happen in enumerate(happenings):
        happen()
        assert files.below("")[0] == as_git_sees(remote), number
        assert files.below("")[0] == as_git_sees(remote), number


def test_a_watch_names_the_file_that_changed_and_forgets_it(remote):
    remote.commit({"top.sls": "one"}, branch="feature")
    remote.commit({"top.sls": "one"})
    watch = RefWatch(remote.bare / "refs")
    assert watch.changed() is None
    assert watch.changed() == set()
    remote.commit({"top.sls": "two"})
    assert watch.changed() == {"heads/main", "heads/main.lock"}
    assert watch.changed() == set()
    watch.forget()
    assert watch.changed() is None


def test_a_repository_put_in_the_place_of_another_is_seen(remote, make_remote):
    remote.commit({"top.sls": "one"})
    files = RefFiles(remote.bare, watched=True)
    before = files.below("")[0]
    second = make_remote("second")
    second.commit({"top.sls": "other"})
    remote.bare.rename(remote.bare.with_name("away"))
    second.bare.rename(remote.bare)
    assert files.below("")[0] == as_git_sees(remote) != before


def test_after_a_ref_that_cannot_be_read_all_are_read_again(remote):
    remote.commit({"top.sls": "one"})
    files = RefFiles(remote.bare, watched=True)
    before = files.below("")[0]
    main = remote.bare / "refs" / "heads" / "main"
    main.write_text("garbage\n")
    for _ in range(2):
        with pytest.raises(OSError, match="cannot be read"):
            files.below("")
    main.write_text(before["refs/heads/main"] + "\n")
    assert files.below("")[0] == before


def test_a_child_does_not_take_the_events_of_its_parent(remote):
    remote.commit({"top.sls": "one"})
    watch = RefWatch(remote.bare / "refs")
    watch.changed()
    remote.commit({"top.sls": "two"})
    child = os.fork()
    if child == 0:
        os._exit(0 if watch.changed() is None else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert watch.changed() == {"heads/main", "heads/main.lock"}


def test_a_ref_moves_without_leaving_anything_beside_it(remote):
    first = remote.commit({"top.sls": "one"})
    remote.commit({"top.sls": "two"})
    remote.run("--git-dir", str(remote.bare), "pack-refs", "--all")
    move_ref(str(remote.bare), "refs/heads/main", first)
    assert as_git_sees(remote)["refs/heads/main"] == first
    assert [path.name for path in (remote.bare / "refs" / "heads").iterdir()] == ["main"]


def test_a_pack_is_made_without_a_look_at_the_refs_of_the_remote(remote, tmp_path):
    head = remote.commit({"top.sls": "one"})
    (remote.bare / "refs" / "heads" / "unreadable").mkdir()
    (remote.bare / "refs" / "heads" / "unreadable" / "ref").write_text("garbage\n")
    into = pygit2.init_repository(str(tmp_path / "mirror"), bare=True)
    assert LocalRemote(remote.bare).copy(into, [head])
    assert into[head].peel(pygit2.Tree)["top.sls"].data == b"one"
