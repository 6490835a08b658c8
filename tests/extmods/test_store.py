"""Modules on a minion's disk: taken from a tree by content, kept over a restart, dropped with the tree."""

from __future__ import annotations

import json

import pytest

from extmods.folders import ModuleFolders
from extmods.store import ModuleStore
from highstate.files import MemoryFiles, blob_id
from minion.machine.durable_files import write_durably

GREET, OTHER = b"def hello():\n    return 1\n", b"def hello():\n    return 2\n"
TREE = MemoryFiles({
    "base": {
        "_modules/greet.py": GREET,
        "_modules/large/__init__.py": OTHER,
        "_modules/large/part.py": b"",
        "_modules/notes.txt": b"",
        "_states/greet.py": OTHER,
    },
    "dev": {"_modules/greet.py": OTHER},
})  # fmt: skip


@pytest.fixture
def store(tmp_path):
    return ModuleStore(str(tmp_path), write=write_durably)


def test_a_sync_takes_the_modules_of_a_tree(store):
    assert store.sync(TREE, ("modules", "states")) == {
        "modules": ["modules.greet", "modules.large"],
        "states": ["states.greet"],
    }
    assert store.index() == {
        "modules": {"greet": blob_id(GREET), "large": blob_id(OTHER)},
        "states": {"greet": blob_id(OTHER)},
    }
    assert store.source(blob_id(GREET)) == GREET


def test_they_outlive_the_process(store, tmp_path):
    store.sync(TREE)
    again = ModuleStore(str(tmp_path), write=write_durably)
    assert again.index() == store.index()
    assert again.source(blob_id(OTHER)) == OTHER
    assert again.sync(TREE, ("modules",)) == {"modules": []}


def test_what_a_tree_has_no_more_goes(store, tmp_path):
    store.sync(TREE)
    gone = MemoryFiles({"base": {"_modules/greet.py": OTHER}})
    assert store.sync(gone, ("modules",)) == {"modules": ["modules.greet", "modules.large"]}
    assert store.index()["modules"] == {"greet": blob_id(OTHER)}
    assert store.sync(gone)["states"] == ["states.greet"]
    assert [path.stem for path in (tmp_path / "usermodules").glob("*.py")] == [blob_id(OTHER)]


def test_the_caller_chooses(store):
    assert store.sync(TREE, ("modules",), chosen=lambda kind, name: name == "large") == {"modules": ["modules.large"]}
    assert store.sync(TREE, ("modules",), saltenv="dev")["modules"] == ["modules.greet", "modules.large"]
    assert store.index()["modules"] == {"greet": blob_id(OTHER)}


@pytest.mark.parametrize("made", ["no cachedir", "a file stands there"])
def test_without_a_folder_they_are_held_in_memory(tmp_path, made):
    if made != "no cachedir":
        (tmp_path / "usermodules").write_text("")
    memory = ModuleStore("" if made == "no cachedir" else str(tmp_path), write=write_durably)
    assert memory.sync(TREE, ("modules",))["modules"] == ["modules.greet", "modules.large"]
    assert memory.source(blob_id(GREET)) == GREET
    with pytest.raises(FileNotFoundError):
        memory.source("0" * 40)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff"])
def test_a_damaged_index_counts_as_empty(store, tmp_path, content):
    store.sync(TREE)
    (tmp_path / "usermodules/index.json").write_bytes(content)
    again = ModuleStore(str(tmp_path), write=write_durably)
    assert again.index() == {}
    assert again.sync(TREE, ("modules",))["modules"] == ["modules.greet", "modules.large"]
    assert set(json.loads((tmp_path / "usermodules/index.json").read_text())) == {"modules"}


def test_folders_of_the_machine_stand_before_the_tree(tmp_path):
    (tmp_path / "own/modules").mkdir(parents=True)
    (tmp_path / "own/modules/greet.py").write_bytes(OTHER)
    store = ModuleStore(str(tmp_path), ModuleFolders(modules=(str(tmp_path / "own"),)), write=write_durably)
    store.sync(TREE, ("modules",))
    assert store.source(store.index()["modules"]["greet"]) == OTHER
    (tmp_path / "own/modules/greet.py").unlink()
    store.look_again()
    assert store.source(store.index()["modules"]["greet"]) == GREET
