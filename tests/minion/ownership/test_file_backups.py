"""Copies of what states overwrite and delete, and their bounds."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.config.groups import FileBackupOptions
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.ownership.file_backups import FileBackups


@pytest.fixture
def root(tmp_path):
    path = tmp_path / "root"
    path.mkdir()
    (tmp_path / "cache").mkdir()
    return path


def backups(root, clock=time.time, **options):
    return FileBackups(str(root.parent / "cache/file_backup"), FileBackupOptions(**options), "run-1", clock)


def apply(kept: FileBackups, *chunks: Chunk) -> None:
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({"base": {}})), acts_on=kept.machine_for)
    results = run({chunk.tag: chunk for chunk in chunks}, engine, test=False, clock=time.time)
    assert all(one.result for one in results.values()), results


def state(fun: str, path, **arguments) -> Chunk:
    return Chunk(state="file", fun=fun, id="s", name=str(path), sls="app", arguments=arguments)


def contents(kept: FileBackups) -> dict[str, str]:
    return {one.path: Path(one.place).read_text() for one in kept.copies()}


def test_what_is_overwritten_and_deleted_is_kept_with_its_mode(root):
    kept = backups(root)
    (root / "a").write_text("old\n")
    (root / "a").chmod(0o640)
    (root / "d/e").mkdir(parents=True)
    (root / "d/e/b").write_text("b\n")
    (root / "new").parent.mkdir(exist_ok=True)
    apply(kept, state("managed", root / "a", contents="new"), state("absent", root / "d"))
    apply(kept, state("managed", root / "new", contents="new"))
    assert contents(kept) == {str(root / "a"): "old\n", str(root / "d/e/b"): "b\n"}
    first = kept.copies()[0]
    assert (first.run, first.state) == ("run-1", "s (file.managed)")
    assert (first.mode, Path(first.place).stat().st_mode & 0o777) == ("0640", 0o600)


def test_a_state_that_keeps_a_copy_itself_makes_no_second_one(root):
    kept = backups(root)
    (root / "a").write_text("old\n")
    apply(kept, state("managed", root / "a", contents="new", backup="minion"))
    assert kept.copies() == []


def test_bounds_of_number_age_and_size(root):
    now = [0.0]
    path = root / "a"

    def kept(**options):
        return backups(root, lambda: now[0], **options)

    for number in range(4):
        now[0] += 1
        path.write_text(f"{number}\n")
        kept(copies=2).keep(str(path), "s")
    one = kept(copies=2)
    one.trim()
    assert [Path(each.place).read_text() for each in one.copies()] == ["2\n", "3\n"]
    now[0] += 3 * 86400
    path.write_text("late\n")
    one = kept(copies=5, days=2)
    one.keep(str(path), "s")
    one.trim()
    assert list(contents(one).values()) == ["late\n"]
    path.write_text("x" * 100_000)
    small = kept(copies=5, megabytes=0.3)
    small.keep(str(path), "s")
    assert len(small.copies()) == 1, "a file of more than a quarter of the bound is not kept"
    path.write_text("x" * 70_000)
    for _ in range(6):
        now[0] += 1
        small = kept(copies=50, megabytes=0.3)
        small.keep(str(path), "s")
    assert sum(each.size for each in small.copies()) <= 0.3 * 1024 * 1024
    none = kept(copies=0)
    before = len(none.copies())
    none.keep(str(path), "s")
    assert len(none.copies()) == before


def test_a_copy_is_a_file_of_its_own_after_the_state(root, monkeypatch):
    kept = backups(root)
    shared: list[int] = []
    part = FileBackups.part

    def parting(self, place):
        shared.append(Path(place).stat().st_nlink)
        part(self, place)

    monkeypatch.setattr(FileBackups, "part", parting)
    for name in ("plain", "linked", "writable", "setuid"):
        (root / name).write_text("old\n")
        (root / name).chmod(0o644)
    (root / "other").hardlink_to(root / "linked")
    (root / "writable").chmod(0o664)
    (root / "setuid").chmod(0o4755)
    before = time.time()
    apply(kept, *(state("managed", root / name, contents="new") for name in ("plain", "linked", "writable", "setuid")))
    assert shared == [1], "only a file that nobody else may write to is kept by its name alone"
    (root / "other").write_text("later\n")
    assert list(contents(kept).values()) == ["old\n"] * 4
    for one in kept.copies():
        found = Path(one.place).stat()
        assert (found.st_mode & 0o7777, found.st_nlink) == (0o600, 1)
        assert found.st_mtime >= before - 1, "list_backups shows when it was kept"


def test_a_copy_of_what_was_not_replaced_after_all_does_not_change_with_it(root):
    kept = backups(root)
    (root / "a").write_text("old\n")

    class Full(LocalMachine):
        def write(self, path, data, *, mode=None):
            raise OSError(28, "No space left on device", path)

    engine = StateEngine(Full(sources_port=MemoryFiles({"base": {}})), acts_on=kept.machine_for)
    one = state("managed", root / "a", contents="new")
    result = run({one.tag: one}, engine, test=False, clock=time.time)[one.tag]
    assert result.result is False
    with (root / "a").open("a") as file:
        file.write("by hand\n")
    assert contents(kept) == {str(root / "a"): "old\n"}
