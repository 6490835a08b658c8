"""Folders held open: by the names that were asked for, or by the walk, where a symlink or something else is between."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from minion.machine import dirfd
from minion.machine.dirfd import held


@pytest.fixture
def walked(monkeypatch):
    """Folders to which the walk went."""
    folders: list[str] = []
    walk = dirfd._walk
    monkeypatch.setattr(dirfd, "_walk", lambda folder, path: folders.append(folder) or walk(folder, path))
    return folders


def inode(folder: int) -> tuple[int, int]:
    found = os.fstat(folder)
    return found.st_dev, found.st_ino


@pytest.mark.parametrize("name", ["plain", "with blank", "new\nline", "\udcff", "d (deleted)"])
def test_a_folder_that_no_symlink_leads_to_is_opened_at_once(tmp_path, walked, name):
    folder = tmp_path / name
    folder.mkdir()
    with held(f"{folder}/file") as (found, last):
        assert (inode(found), last) == (inode(os.open(folder, os.O_PATH)), "file")
    assert walked == []


def test_a_symlink_on_the_way_is_looked_at(tmp_path, walked):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    with held(f"{tmp_path}/link/file") as (found, _):
        assert inode(found) == inode(os.open(tmp_path / "real", os.O_PATH))
    assert walked == [f"{tmp_path}/link"]


def test_what_is_no_folder_is_refused_with_its_name(tmp_path):
    (tmp_path / "file").write_text("")
    for folder, kind in (("file", NotADirectoryError), ("missing", FileNotFoundError)):
        with pytest.raises(kind), held(f"{tmp_path}/{folder}/name"):
            pass


def test_no_descriptor_is_left(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path)
    before = len(list(Path("/proc/self/fd").iterdir()))
    for folder in ("", "/link", "/missing"):
        try:
            with held(f"{tmp_path}{folder}/name"):
                pass
        except FileNotFoundError:
            pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before
