"""Remotes as they come: shallow, empty, renamed, with twins among names, with tags of tags, with hostile trees."""

from __future__ import annotations

import shutil
import subprocess

import pytest
from git_servers import PASSWORD, USER, serving

from gitfs.errors import FetchFailed, UnknownRef
from gitfs.source import Source


@pytest.fixture
def opened(tmp_path):
    """A function: the source of some settings, over one cache."""
    sources = []

    def open_source(*settings):
        source = Source(settings, (), tmp_path / "cache")
        sources.append(source)
        return source

    yield open_source
    for source in sources:
        source.close()


def git(repository, *arguments, given=b""):
    done = subprocess.run(["git", "-C", str(repository), *arguments], input=given, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout.decode().strip()


def fetched(source):
    (outcome,) = source.fetch(patience=60)
    assert not isinstance(outcome, FetchFailed), outcome
    return outcome


def shown(source, saltenv="base"):
    files = source.live().files
    return {path: files.read(path, saltenv).decode() for path in files.list("", saltenv)}


@pytest.fixture
def shallow(remote, tmp_path):
    """A bare shallow clone of the remote, which has four commits."""
    for number in range(4):
        remote.commit({"top.sls": str(number)})
    path = tmp_path / "shallow/remote.git"
    path.parent.mkdir()
    git(tmp_path, "clone", "-q", "--bare", "--depth", "2", f"file://{remote.bare}", str(path))
    assert (path / "shallow").exists()
    return path


def test_a_remote_that_is_a_shallow_clone_itself(remote, opened, shallow):
    source = opened(remote.settings(url=str(shallow)))
    assert not fetched(source).refused
    assert shown(source) == {"top.sls": "3"}
    remote.run("remote", "add", "shallow", str(shallow))
    for text in ("4", "5"):
        remote.commit({"top.sls": text})
        remote.run("push", "-q", "shallow", "main")
        assert not fetched(source).refused
        assert shown(source) == {"top.sls": text}
        source.gc()
    remote.run("push", "-qf", "shallow", "main~1:main")
    (one,) = fetched(source).refused
    assert "set back or force-pushed" in one.reason
    assert shown(source) == {"top.sls": "5"}


def test_a_shallow_clone_elsewhere_is_told(remote, opened, shallow):
    with serving(shallow.parent) as port:
        url = f"http://127.0.0.1:{port}/remote.git"
        source = opened(remote.settings(url=url, user=USER, password=PASSWORD, insecure_auth=True))
        (failed,) = source.fetch(patience=60)
        assert "shallow clone" in str(failed)
        git(shallow, "fetch", "-q", "--unshallow", f"file://{remote.bare}")
        fetched(source)
        assert shown(source) == {"top.sls": "3"}


def test_an_empty_repository_and_its_first_commit(remote, opened):
    source = opened(remote.settings())
    (failed,) = source.fetch()
    assert "the remote has no branch" in str(failed)
    assert source.live().missing == ("states",)
    remote.commit({"top.sls": "one"})
    fetched(source)
    assert source.live().missing == ()
    assert shown(source) == {"top.sls": "one"}


NFC, NFD = "caf\u00e9.sls", "cafe\u0301.sls"


def test_names_that_differ_in_case_or_composition_alone(remote, opened):
    files = {"README": "1", "readme": "2", "Docs/a": "3", "docs/a": "4", "docs/A": "5", NFC: "6", NFD: "7"}
    remote.commit(files)
    source = opened(remote.settings())
    fetched(source)
    assert shown(source) == files
    live = source.live().files
    assert live.list("Docs") == ["Docs/a"]
    assert live.oid("DOCS/a") is None
    remote.commit({"readme": None, NFD: "8"})
    fetched(source)
    assert shown(source) == {**{name: text for name, text in files.items() if name != "readme"}, NFD: "8"}


def test_branches_that_differ_in_case_or_composition_alone(remote, opened):
    remote.commit({"top.sls": "main"})
    for branch in ("Dev", "dev", "caf\u00e9", "cafe\u0301"):
        remote.commit({"top.sls": branch}, branch=branch)
    source = opened(remote.settings())
    fetched(source)
    for branch in ("Dev", "dev", "caf\u00e9", "cafe\u0301"):
        assert shown(source, branch) == {"top.sls": branch}


def test_annotated_nested_and_odd_tags(remote, opened):
    commit = remote.commit({"top.sls": "one"})
    remote.run("tag", "-a", "annotated", "-m", "a tag")
    remote.run("tag", "-a", "nested", "-m", "a tag of a tag", "annotated")
    remote.run("tag", "-a", "deep", "-m", "a tag of a tag of a tag", "nested")
    remote.run("tag", "of-a-tree", "HEAD^{tree}")
    remote.run("tag", "-a", "of-a-blob", "-m", "a key", "HEAD:top.sls")
    remote.run("push", "-q", "origin", "--tags")
    source = opened(remote.settings())
    outcome = fetched(source)
    assert {each.branch: each.reason for each in outcome.refused} == {
        "of-a-blob": "it is no commit",
        "of-a-tree": "it is no commit",
    }
    assert source.live().files.saltenvs() == ["annotated", "base", "deep", "nested"]
    for tag in ("annotated", "nested", "deep"):
        assert shown(source, tag) == {"top.sls": "one"}
        assert source.at(tag).revision.remotes["states"].commit == commit
    assert not fetched(source).changed
    source.gc()
    assert not fetched(source).rebuilt
    assert shown(source, "deep") == {"top.sls": "one"}


def test_the_default_branch_is_renamed(remote, opened):
    first = remote.commit({"top.sls": "one"}, branch="master")
    source = opened(remote.settings())
    fetched(source)
    remote.run("branch", "-m", "master", "main")
    remote.run("push", "-q", "origin", "main")
    git(remote.bare, "symbolic-ref", "HEAD", "refs/heads/main")
    remote.run("push", "-q", "origin", ":master")
    fetched(source)
    assert source.live().revision.remotes["states"].branch == "main"
    assert source.live().revision.remotes["states"].commit == first
    second = remote.commit({"top.sls": "two"})
    assert fetched(source).refs == {"main": second}
    assert shown(source) == {"top.sls": "two"}


def test_the_default_branch_gets_a_name_that_nobody_expects(remote, opened):
    remote.commit({"top.sls": "one"})
    source = opened(remote.settings())
    fetched(source)
    remote.run("branch", "-m", "main", "trunk")
    remote.run("push", "-q", "origin", "trunk")
    git(remote.bare, "symbolic-ref", "HEAD", "refs/heads/trunk")
    remote.run("push", "-q", "origin", ":main")
    outcome = fetched(source)
    assert [str(each) for each in outcome.refused] == ["main: it has vanished from the remote"]
    assert shown(source) == {"top.sls": "one"}
    remote.commit({"top.sls": "two"}, branch="trunk")
    renamed = opened(remote.settings(base="trunk"))
    fetched(renamed)
    assert shown(renamed) == {"top.sls": "two"}
    assert "main" not in fetched(renamed).refs


def test_a_deleted_branch_comes_back(remote, opened):
    remote.commit({"top.sls": "main"})
    remote.commit({"top.sls": "first"}, branch="dev")
    source = opened(remote.settings())
    fetched(source)
    remote.run("push", "-q", "origin", ":dev")
    fetched(source)
    assert source.live().files.saltenvs() == ["base"]
    remote.run("push", "-q", "origin", "dev")
    fetched(source)
    assert shown(source, "dev") == {"top.sls": "first"}
    remote.run("push", "-q", "origin", ":dev")
    remote.run("checkout", "-q", "main")
    remote.run("branch", "-q", "-D", "dev")
    fetched(source)
    remote.commit({"top.sls": "another"}, branch="dev")
    assert not fetched(source).refused
    assert shown(source, "dev") == {"top.sls": "another"}


def test_a_base_that_is_deleted_and_comes_back_with_another_history_is_a_rewind(remote, opened):
    remote.commit({"top.sls": "one"})
    source = opened(remote.settings())
    fetched(source)
    git(remote.bare, "update-ref", "-d", "refs/heads/main")
    remote.run("push", "-q", "origin", "main:other")
    fetched(source)
    remote.run("checkout", "-q", "--orphan", "new")
    remote.run("commit", "-qam", "another beginning")
    remote.run("push", "-q", "origin", "new:main")
    (one,) = fetched(source).refused
    assert "set back or force-pushed" in one.reason
    assert shown(source) == {"top.sls": "one"}


def test_names_of_refs_that_are_options_elsewhere(remote, opened):
    commit = remote.commit({"top.sls": "one"})
    names = ["--upload-pack=touch", "-x", "a'b;c", "$(touch)", "HEAD", "refs/heads/main"]
    lines = "".join(f"create refs/heads/{name} {commit}\n" for name in names)
    git(remote.bare, "update-ref", "--stdin", given=lines.encode())
    source = opened(remote.settings())
    assert set(fetched(source).refs) == {"main", *names}
    for name in names:
        assert shown(source, name) == {"top.sls": "one"}
    for name in ("--upload-pack=touch", "-x"):
        with pytest.raises(UnknownRef, match="cannot be the name"):
            source.at(name)


def tree_of(remote, *entries):
    """Id of a tree with these (mode, name, id), as no git would write it."""
    raw = b"".join(f"{mode} ".encode() + name + b"\0" + bytes.fromhex(oid) for mode, name, oid in entries)
    return git(remote.work, "hash-object", "-t", "tree", "--literally", "-w", "--stdin", given=raw)


@pytest.mark.parametrize("name", [b"..", b".", b"../../etc/cron.d/x", b"/etc/passwd", b"a/b", b"a//b", b".git"])
@pytest.mark.parametrize("kind", ["file", "folder"])
def test_names_in_a_tree_that_lead_out_of_it(remote, opened, name, kind):
    remote.commit({"top.sls": "one"})
    source = opened(remote.settings())
    fetched(source)
    blob = git(remote.work, "hash-object", "-w", "--stdin", given=b"evil")
    entry = ("100644", name, blob) if kind == "file" else ("40000", name, tree_of(remote, ("100644", b"x", blob)))
    top = remote.run("rev-parse", "HEAD:top.sls")
    tree = tree_of(remote, entry, ("100644", b"top.sls", top))
    commit = git(remote.work, "commit-tree", tree, "-p", "HEAD", "-m", "evil", given=b"")
    # Put there as somebody who owns the server could.
    shutil.copytree(remote.work / ".git/objects", remote.bare / "objects", dirs_exist_ok=True)
    (remote.bare / "refs/heads/main").write_text(commit + "\n")
    outcome = fetched(source)
    if name == b".git":
        assert not outcome.refused
        return
    (one,) = outcome.refused
    assert "would lead out of the tree" in one.reason
    assert shown(source) == {"top.sls": "one"}
    with pytest.raises(UnknownRef, match=r"would lead out of the tree"):
        source.at(commit)


def test_a_preview_of_a_tree_of_too_many_files_is_refused(remote, opened):
    remote.commit({"top.sls": "one"})
    tree = remote.run("rev-parse", "HEAD^{tree}")
    for _ in range(25):
        tree = git(remote.work, "mktree", given=f"040000 tree {tree}\ta\n040000 tree {tree}\tb\n".encode())
    bomb = remote.run("commit-tree", tree, "-p", "HEAD", "-m", "bomb")
    remote.run("push", "-q", "origin", f"{bomb}:refs/heads/bomb")
    source = opened(remote.settings(submodules=False, lfs=False))
    assert [each.branch for each in fetched(source).refused] == ["bomb"]
    with pytest.raises(UnknownRef, match="more than 500000 files"):
        source.at("bomb")
