"""Parts of large contents while the folder of unpacked ones is bounded, emptied or not to be written."""

from __future__ import annotations

import os
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from gitfs.mirror.mirror import Mirror
from gitfs.tree import blob_cache
from gitfs.tree.directory import blob_id
from gitfs.tree.snapshot import directory_snapshot

SIZE = 100_000


@pytest.fixture
def blobs(remote, tmp_path):
    """(path of a mirror, contents in it, folder of the unpacked ones)."""
    contents = [os.urandom(SIZE) for _ in range(8)]
    remote.commit({f"f{number}": content for number, content in enumerate(contents)})
    mirror = Mirror(remote.settings(), tmp_path / "mirror")
    mirror.fetch()
    return mirror.path, contents, Path(mirror.path).parent / "blobs"


def whole(mirror, content, step=30_000):
    oid = blob_id(content)
    return b"".join(blob_cache.read_range(mirror, oid, offset, step) for offset in range(0, SIZE, step))


def test_the_folder_stays_within_its_bound_while_files_are_served(blobs, monkeypatch):
    mirror, contents, folder = blobs
    monkeypatch.setattr(blob_cache, "MOST_BYTES", 3 * SIZE)
    folder.mkdir()
    (folder / "new-left-by-a-kill").write_bytes(b"x" * SIZE)
    os.utime(folder / "new-left-by-a-kill", (0, 0))
    for content in contents * 2:
        assert whole(mirror, content) == content
        assert sum(path.stat().st_size for path in folder.iterdir()) <= 3 * SIZE
    assert not list(folder.glob("new-*"))


def test_what_goes_in_the_middle_of_a_download_is_unpacked_again(blobs):
    mirror, contents, folder = blobs
    oid = blob_id(contents[0])
    first = blob_cache.read_range(mirror, oid, 0, 40_000)
    (folder / oid).unlink()
    assert first + blob_cache.read_range(mirror, oid, 40_000, SIZE) == contents[0]


def test_a_folder_that_cannot_be_made_costs_time_alone(blobs):
    mirror, contents, folder = blobs
    folder.write_bytes(b"a file in its place")
    assert whole(mirror, contents[0]) == contents[0]


def test_many_at_once(blobs, monkeypatch):
    mirror, contents, _ = blobs
    monkeypatch.setattr(blob_cache, "MOST_BYTES", 3 * SIZE)
    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(lambda content: whole(mirror, content), contents * 4)) == contents * 4


@pytest.mark.parametrize("kind", ["git", "directory"])
def test_a_part_takes_no_more_memory_than_there_is(blobs, tmp_path, kind):
    mirror, contents, _ = blobs
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "f").write_bytes(contents[0])
    snapshot = directory_snapshot({"base": [folder]})
    oid = blob_id(contents[0])
    read = partial(blob_cache.read_range, mirror, oid) if kind == "git" else partial(snapshot.read_range, oid)
    assert read(0, SIZE) == contents[0]
    tracemalloc.start()
    try:
        assert read(1, 100 * SIZE) == contents[0][1:]
        assert tracemalloc.get_traced_memory()[1] < 3 * SIZE
    finally:
        tracemalloc.stop()
    assert read(SIZE + 1, SIZE) == b""
