"""Which states are touched when somebody changes what they manage: real files, real inotify."""

import select
import time

import pytest

from highstate.types import Chunk
from minion.beacons import watched_states
from minion.beacons.watched_states import WatchedStates, managed_paths


def chunk(fun, name, **arguments):
    state, _, bare = fun.partition(".")
    return Chunk(state=state, fun=bare, id=str(name), name=str(name), sls="s", arguments=arguments)


@pytest.fixture
def watch():
    watch = WatchedStates()
    yield watch
    watch.close()


def touched(watch, *, seconds=20.0):
    """What is told next."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        now = time.monotonic()
        if found := watch.look(now):
            return set(found)
        wait = min(end, watch.due_at(now)) - now
        select.select(watch.readers(now), [], [], max(0.0, wait))
    return set()


def test_states_of_files_have_paths():
    paths = managed_paths(
        {
            "a": chunk("file.managed", "/etc/a"),
            "b": chunk("file.append", "/etc/a"),
            "c": chunk("file.recurse", "/srv/www/"),
            "d": chunk("cmd.run", "/etc/a"),
            "e": chunk("file.accumulated", "/etc/e"),
            "f": chunk("file.directory", "/srv/conf", clean=True),
        }
    )
    assert paths.files == {"/etc/a": ("a", "b"), "/srv/www": ("c",), "/srv/conf": ("f",)}
    assert paths.trees == {"/srv/www": ("c",), "/srv/conf": ("f",)}


def test_an_edit_a_rename_and_a_removal_touch_the_state_and_other_files_do_not(watch, tmp_path):
    watch.follow("d1", {"a": chunk("file.managed", tmp_path / "a"), "b": chunk("file.managed", tmp_path / "b")}, 0.0)
    (tmp_path / "other").write_text("x")
    (tmp_path / "a").write_text("x")
    assert touched(watch) == {"a"}
    (tmp_path / "other").rename(tmp_path / "b")
    assert touched(watch) == {"b"}
    (tmp_path / "a").unlink()
    (tmp_path / "b").chmod(0o600)
    assert touched(watch) == {"a", "b"}


def test_what_a_run_says_it_changed_is_left_out(watch, tmp_path):
    watch.follow("d1", {"a": chunk("file.managed", tmp_path / "a"), "b": chunk("file.managed", tmp_path / "b")}, 0.0)
    watch.state_run(running=True, changed=(), now=time.monotonic())
    (tmp_path / "a").write_text("ours")
    (tmp_path / "b").write_text("theirs")
    assert not touched(watch, seconds=0.3)
    watch.state_run(running=False, changed=(str(tmp_path / "a"),), now=time.monotonic())
    assert touched(watch) == {"b"}


def test_a_folder_may_come_go_and_come_again(watch, tmp_path, monkeypatch):
    monkeypatch.setattr(watched_states, "MISSING_AGAIN", 0.05)
    folder = tmp_path / "later"
    watch.follow("d1", {"a": chunk("file.managed", folder / "a")}, time.monotonic())
    folder.mkdir()
    assert touched(watch) == {"a"}
    folder.rename(tmp_path / "away")
    assert touched(watch) == {"a"}
    folder.mkdir()
    assert touched(watch) == {"a"}
    (folder / "a").write_text("x")
    assert touched(watch) == {"a"}


def test_all_below_a_tree_is_watched_also_new_folders(watch, tmp_path):
    (tmp_path / "www/old").mkdir(parents=True)
    watch.follow("d1", {"w": chunk("file.recurse", tmp_path / "www")}, 0.0)
    (tmp_path / "www/old/index").write_text("x")
    assert touched(watch) == {"w"}
    (tmp_path / "www/new").mkdir()
    assert touched(watch) == {"w"}
    (tmp_path / "www/new/index").write_text("x")
    assert touched(watch) == {"w"}


def test_more_folders_than_the_bound_are_told(watch, tmp_path, monkeypatch):
    monkeypatch.setattr(watched_states, "MOST_FOLDERS", 2)
    chunks = {}
    for name in ("x", "y", "z"):
        (tmp_path / name).mkdir()
        chunks[name] = chunk("file.managed", tmp_path / name / "f")
    watch.follow("d1", chunks, 0.0)
    assert "2 folders are watched" in watch.problems[0]
    (tmp_path / "x/f").write_text("x")
    assert touched(watch) == {"x"}


def test_a_new_document_loses_nothing_of_the_old(watch, tmp_path):
    chunks = {"a": chunk("file.managed", tmp_path / "a")}
    watch.follow("d1", chunks, 0.0)
    (tmp_path / "a").write_text("x")
    watch.follow("d2", chunks, time.monotonic())
    assert touched(watch) == {"a"}
    assert watch.digest == "d2"
