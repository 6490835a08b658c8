from __future__ import annotations

import os
import time
from pathlib import Path

import pygit2
import pytest

from gitfs.mirror.maintenance import PIN_SECONDS, UNUSED_SECONDS
from gitfs.remote_report import disk_bytes
from gitfs.source import Source

ALLOW = ("-c", "protocol.file.allow=always")


@pytest.fixture
def parts(make_remote, monkeypatch):
    """A parent whose submodule stood at a commit that no branch of the child has any more, and that commit."""
    monkeypatch.setattr("gitfs.mirror.mirror_store.MOST_PACKS", 1)
    parent, child = make_remote("states"), make_remote("formula")
    child.commit({"f": "kept"})
    lost = child.commit({"f": os.urandom(50_000)})
    parent.run(*ALLOW, "submodule", "add", "-q", str(child.bare), "formula")
    parent.commit()
    return parent, child, lost


def go_on(parent, child):
    """The child forgets the commit, and the parent goes on to another."""
    child.run("reset", "-q", "--hard", "HEAD~1")
    child.run("push", "-qf", "origin", "main")
    child.commit({"f": "newest"})
    parent.run(*ALLOW, "submodule", "update", "-q", "--remote", "formula")
    parent.commit()


def of_submodule(source):
    layers = source.live().files.environments["base"]
    return pygit2.Repository(layers[1].mirror)


def make_old(repository):
    for path in Path(repository.path, "refs/saltern/pinned").iterdir():
        os.utime(path, (time.time() - PIN_SECONDS - 10,) * 2)


def test_commits_of_submodules_that_nobody_shows_go(parts, tmp_path):
    parent, child, lost = parts
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        before = source.live().files
        repository = of_submodule(source)
        go_on(parent, child)
        source.fetch()
        assert source.live().files.read("formula/f") == b"newest"
        source.gc()
        assert lost in repository  # brought just now
        make_old(repository)
        source.gc()
        assert len(before.read("formula/f")) == 50_000  # a snapshot in use shows it
        del before
        weight = source.disk_bytes()["submodules"]
        assert "states/formula" in source.gc()
        assert lost not in pygit2.Repository(repository.path)
        assert source.disk_bytes()["submodules"] < weight - 40_000
        assert source.live().files.read("formula/f") == b"newest"
        child.run("push", "-q", "origin", f"{lost}:refs/heads/back")
        assert len(source.at(parent.run("rev-parse", "HEAD~1")).files.read("formula/f")) == 50_000


def test_what_a_branch_of_the_parent_records_stays(parts, tmp_path):
    parent, child, lost = parts
    parent.run("push", "-q", "origin", "HEAD:refs/heads/older")
    with Source([parent.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        repository = of_submodule(source)
        go_on(parent, child)
        source.fetch()
        make_old(repository)
        source.gc()
        assert lost in pygit2.Repository(repository.path)
        assert len(source.live().files.read("formula/f", "older")) == 50_000


def test_mirrors_of_remotes_that_are_configured_no_more_go_after_a_while(make_remote, tmp_path):
    kept, left = make_remote("kept"), make_remote("left")
    cache = tmp_path / "cache"
    for each in (kept, left):
        each.commit({"top.sls": "one"})
    with Source([kept.settings(name="kept"), left.settings(name="left")], (), cache) as source:
        source.fetch()
        (gone,) = (Path(mirror.path).parent for _, mirror in source.mirrors_of("left"))
        (stays,) = (Path(mirror.path).parent for _, mirror in source.mirrors_of("kept"))
    (cache / "something-else").mkdir()
    with Source([kept.settings(name="kept")], (), cache) as source:
        source.gc()
        assert gone.is_dir()
        for folder in (gone, stays):
            os.utime(folder / "lock", (time.time() - UNUSED_SECONDS - 10,) * 2)
        source.gc()
        assert sorted(path.name for path in cache.iterdir()) == sorted([stays.name, "something-else"])
        assert source.live().files.read("top.sls") == b"one"
        assert source.disk_bytes() == {"kept": disk_bytes(stays)}
    assert left.bare.is_dir()
