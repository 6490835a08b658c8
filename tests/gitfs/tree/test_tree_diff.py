from __future__ import annotations

import tempfile
from pathlib import Path

import pygit2
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitfs.config.settings import Ignored
from gitfs.errors import StaleSnapshot
from gitfs.source import Source
from gitfs.tree import objects
from gitfs.tree.snapshot import GitLayer, Snapshot, directory_snapshot
from gitfs.tree.tree_diff import changed_paths

NAMES = st.sampled_from(["a", "b", "c/x", "c/y", "c/d/z", "e"])
TREES = st.dictionaries(NAMES, st.sampled_from([b"1", b"2", b"3"]), max_size=6)


def write_tree(repository, files):
    index = pygit2.Index()
    for path, content in files.items():
        mode = pygit2.enums.FileMode.LINK if path == "e" and content == b"3" else pygit2.enums.FileMode.BLOB
        if content == b"2" and path == "b":
            mode = pygit2.enums.FileMode.BLOB_EXECUTABLE
            content = b"1"
        data = b"a" if mode == pygit2.enums.FileMode.LINK else content
        index.add(pygit2.IndexEntry(path, repository.create_blob(data), mode))
    return str(index.write_tree(repository))


def snapshot(mirror, *trees, ignored=None):
    layers = tuple(
        GitLayer(mirror=mirror, remote=f"r{number}", commit="", tree=tree, mountpoint="m" if number == 2 else "")
        for number, tree in enumerate(trees)
    )
    return Snapshot(environments={"base": layers}, ignored=ignored or Ignored())


@settings(max_examples=60, deadline=None)
@given(old=st.tuples(TREES, TREES, TREES), new=st.tuples(TREES, TREES, TREES))
def test_comparing_trees_finds_what_comparing_listings_finds(old, new):
    with tempfile.TemporaryDirectory() as folder:
        repository = pygit2.init_repository(folder, bare=True)
        ignored = Ignored(globs=("*y",))
        before, after = (
            snapshot(repository.path, *(write_tree(repository, files) for files in side), ignored=ignored)
            for side in (old, new)
        )
        paths = {*before.list(), *after.list()}
        seen = [{path: (each.oid(path), each.mode(path)) for path in paths} for each in (before, after)]
        expected = tuple(sorted(path for path in paths if seen[0][path] != seen[1][path]))
        assert changed_paths(before, after).get("base", ()) == expected


def test_what_is_equal_is_not_looked_into(tmp_path, monkeypatch):
    repository = pygit2.init_repository(tmp_path / "x", bare=True)
    files = {f"f{number:03}/g{inner}/x": b"1" for number in range(100) for inner in range(3)}
    one = snapshot(repository.path, write_tree(repository, files))
    two = snapshot(repository.path, write_tree(repository, {**files, "f050/g1/x": b"2"}))
    changed_paths(one, one)
    assert not objects.has_links(repository.path, one.environments["base"][0].tree)
    asked = []
    real = objects._entries

    def entries(mirror, tree):
        asked.append(tree)
        return real(mirror, tree)

    monkeypatch.setattr(objects, "_entries", entries)
    assert changed_paths(one, two) == {"base": ("f050/g1/x",)}
    assert len(set(asked)) <= 6


def test_environments_that_come_and_go_and_folders(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    for folder, text in ((one, "1"), (two, "2")):
        folder.mkdir()
        (folder / "x").write_text(text)
        (folder / "same").write_text("")
    old = directory_snapshot({"base": [one], "gone": [one]})
    new = directory_snapshot({"base": [two], "come": [two]})
    assert changed_paths(old, new) == {"base": ("x",), "come": ("same", "x"), "gone": ("same", "x")}
    (one / "x").write_text("3")
    assert changed_paths(old, directory_snapshot({"base": [one], "gone": [one]}))["base"] == ("x",)


def test_a_push_to_a_remote(remote, tmp_path):
    remote.commit({"a/x": "1", "b": "1", "c": "1"})
    with Source([remote.settings(mountpoint="m")], (), tmp_path / "cache") as source:
        source.fetch()
        old = source.live().files
        remote.commit({"a/x": "2", "b": None, "d": "1"})
        source.fetch()
        assert changed_paths(old, source.live().files) == {"base": ("m/a/x", "m/b", "m/d")}


@pytest.mark.parametrize("size", [10, 3 * 1024 * 1024])
def test_parts_of_blobs(remote, tmp_path, size):
    content = bytes(number % 251 for number in range(size))
    remote.commit({"big": content})
    with Source([remote.settings()], (), tmp_path / "cache") as source:
        source.fetch()
        files = source.live().files
    oid = files.oid("big")
    for offset, length in ((0, 4), (5, 2), (size - 3, 100), (size, 1), (0, size)):
        assert files.read_range(oid, offset, length) == content[offset : offset + length]
    assert files.read_range("0" * 40, 0, 1) is None
    with pytest.raises(ValueError, match="range"):
        files.read_range(oid, -1, 1)
    kept = list((Path(files.environments["base"][0].mirror).parent).glob("blobs/*"))
    assert [path.name for path in kept] == ([oid] if size > 1024 * 1024 else [])


def test_parts_of_files_in_folders(tmp_path):
    (tmp_path / "x").write_bytes(b"0123456789")
    files = directory_snapshot({"base": [tmp_path]})
    oid = files.oid("x")
    assert (files.read_range(oid, 2, 3), files.blob_size(oid)) == (b"234", 10)
    (tmp_path / "x").write_bytes(b"9876543210")
    with pytest.raises(StaleSnapshot):
        files.read_range(oid, 2, 3)


def test_a_mode_that_changes_in_a_folder_is_a_change(tmp_path):
    (tmp_path / "tool").write_bytes(b"one")
    (tmp_path / "tool").chmod(0o644)
    before = directory_snapshot({"base": [tmp_path]})
    (tmp_path / "tool").chmod(0o750)
    after = directory_snapshot({"base": [tmp_path]})
    assert before.digest != after.digest
    assert changed_paths(before, after) == {"base": ("tool",)}
    assert (before.mode("tool"), after.mode("tool"), after.mode("nothing")) == (0o644, 0o750, None)
