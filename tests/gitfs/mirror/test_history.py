"""Which commit of a branch touched a file last."""

import subprocess

import pygit2
import pytest

from gitfs.mirror import history
from gitfs.mirror.history import newest_commits


@pytest.fixture
def repository(tmp_path):
    def git(*words):
        command = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", *words]
        return subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True).stdout.strip()

    def commit(subject, **files):
        for name, text in files.items():
            (tmp_path / name).write_text(text)
        git("add", "-A")
        git("commit", "-q", "--allow-empty", "-m", subject)
        return git("rev-parse", "HEAD")

    git("init", "-q", "-b", "main")
    return git, commit, lambda base, head: newest_commits(pygit2.Repository(str(tmp_path)), base, head)


def test_the_newest_commit_of_each_file(repository):
    git, commit, newest = repository
    base = commit("First", a="1", b="1")
    git("checkout", "-q", "-b", "feature")
    second = commit("Second\n\nWith a body.", a="2", c="1")
    third = commit("Third", a="3")
    git("checkout", "-q", "main")
    commit("Meanwhile", b="2")
    git("checkout", "-q", "feature")
    git("merge", "-q", "main", "-m", "Merge")
    head = git("rev-parse", "HEAD")
    assert newest(git("rev-parse", "main"), head) == {"a": f"{third[:8]} Third", "c": f"{second[:8]} Second"}
    assert newest(head, base) == {}


def test_a_long_history_is_not_read_to_its_end(repository, monkeypatch):
    _, commit, newest = repository
    base = commit("First", a="1")
    commit("Old", a="2")
    head = commit("New", b="1")
    monkeypatch.setattr(history, "MOST_COMMITS", 1)
    assert list(newest(base, head)) == ["b"]
    monkeypatch.setattr(history, "MOST_COMMITS", 100)
    monkeypatch.setattr(history, "MOST_PATHS", 0)
    assert list(newest(base, head)) == ["b"]


def test_the_first_commit_has_no_parent(repository):
    git, commit, newest = repository
    first = commit("First", a="1")
    git("checkout", "-q", "--orphan", "other")
    git("rm", "-rfq", ".")
    head = commit("Alone", z="1")
    assert newest(first, head) == {"z": f"{head[:8]} Alone"}
