"""Trees out of git for one compile: fetched in processes of their own, which may hang or die."""

from __future__ import annotations

import os
import signal
import socket
import time

import pygit2
import pytest

from controller.offline.trees import GitTree, TreeUnavailable, fetch_layers
from gitfs.mirror import local_remote


@pytest.fixture
def repository(tmp_path):
    """A repository of 20 files, in one pack, with a branch main."""
    made = pygit2.init_repository(str(tmp_path / "states.git"), bare=True, initial_head="main")
    index = pygit2.Index()
    for number in range(20):
        blob = made.create_blob(os.urandom(5000))
        index.add(pygit2.IndexEntry(f"salt/f{number}", blob, pygit2.enums.FileMode.BLOB))
    who = pygit2.Signature("Somebody", "somebody@example.org", 0)
    made.create_commit("refs/heads/main", who, who, "one", index.write_tree(made), [])
    return made


def tree(repository, **fields):
    return GitTree(**{"saltenv": "base", "url": repository.path, "ref": "main", **fields})


def test_each_repository_is_fetched_once(repository, tmp_path):
    trees = [tree(repository, root="salt"), tree(repository, saltenv="dev")]
    (base, layer), (dev, other) = fetch_layers(trees, tmp_path / "mirrors")
    assert (base, dev) == ("base", "dev")
    assert layer.mirror == other.mirror
    assert [path.name for path in (tmp_path / "mirrors").iterdir() if path.is_dir()] == ["0"]


def test_a_server_that_hangs_ends_the_compile_after_its_patience(repository, tmp_path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen(8)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/x.git"
        began = time.monotonic()
        with pytest.raises(TreeUnavailable, match=f"{url}: it has not answered in 1.5 s"):
            fetch_layers([tree(repository), tree(repository, url=url)], tmp_path / "mirrors", patience=1.5)
        assert time.monotonic() - began < 15


def test_a_repository_that_is_cut_off_while_it_is_read_is_told(repository, tmp_path, monkeypatch):
    repository.compress_references()
    packing = pygit2.PackBuilder(repository)
    for oid in repository:
        packing.add(oid)
    packing.write()
    for folder in (tmp_path / "states.git/objects").glob("??"):
        for path in folder.iterdir():
            path.unlink()
    write = local_remote.write_pack

    def cut_off(source, *arguments):
        for path in (tmp_path / "states.git/objects/pack").glob("pack-*"):
            path.chmod(0o600)
            os.truncate(path, 0)
        return write(source, *arguments)

    monkeypatch.setattr(local_remote, "write_pack", cut_off)
    ended = f"ended by ({signal.SIGBUS.name}|{signal.SIGSEGV.name})"
    with pytest.raises(TreeUnavailable, match=ended):
        fetch_layers([tree(repository)], tmp_path / "mirrors", patience=60)
