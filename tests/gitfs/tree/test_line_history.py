"""Lines followed back through commits, merges and moved parts."""

from __future__ import annotations

import subprocess

import pytest

from gitfs.tree.line_history import commits_of_lines


@pytest.fixture
def git(tmp_path):
    def run(*words, text=None, path="a.sls"):
        if text is not None:
            (tmp_path / path).write_text(text)
            subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
        said = ["git", "-c", "user.name=Ann", "-c", "user.email=a@b", *words]
        done = subprocess.run(said, cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    run("init", "-q", "-b", "main")
    run.folder = str(tmp_path)
    return run


def commit(git, message, text):
    git("commit", "-q", "-m", message, text=text)
    return git("rev-parse", "HEAD")


def subjects(git, head, *lines):
    found = commits_of_lines(f"{git.folder}/.git", head, "a.sls", lines)
    return {line: one.subject for line, one in found.items()}


def test_each_line_has_the_commit_that_wrote_it_as_it_is(git):
    commit(git, "first", "a\nb\nc\n")
    commit(git, "before b", "a\nnew\nb\nc\n")
    head = commit(git, "c", "a\nnew\nb\nC\n")
    assert subjects(git, head, 1, 2, 3, 4) == {1: "first", 2: "before b", 3: "first", 4: "c"}
    gone = commit(git, "without a", "new\nb\nC\n")
    assert subjects(git, gone, 1, 2, 3) == {1: "before b", 2: "first", 3: "c"}
    (found,) = commits_of_lines(f"{git.folder}/.git", gone, "a.sls", [1]).values()
    assert (found.author, len(found.commit)) == ("Ann", 40)


def test_what_a_merge_brings_has_its_own_commit(git):
    commit(git, "first", "a\nb\nc\nd\ne\nf\n")
    git("checkout", "-q", "-b", "side")
    commit(git, "side", "a\nb\nc\nd\ne\nF\n")
    git("checkout", "-q", "main")
    commit(git, "main", "A\nb\nc\nd\ne\nf\n")
    git("merge", "-q", "--no-ff", "-m", "merge", "side")
    head = git("rev-parse", "HEAD")
    assert subjects(git, head, 1, 3, 6) == {1: "main", 3: "first", 6: "side"}


def test_what_is_not_there_has_none(git):
    head = commit(git, "first", "a\n")
    assert commits_of_lines(f"{git.folder}/.git", head, "other.sls", [1]) == {}
    assert commits_of_lines(f"{git.folder}/none", head, "a.sls", [1]) == {}
