"""file.recurse, directory, pruned, copy and patch: what happens where something else stands in the way."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

Converge = Callable[..., StateResult]

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def machine_of(**trees: dict[str, bytes]) -> LocalMachine:
    return LocalMachine(sources_port=MemoryFiles(trees))


def test_clean_puts_folders_and_files_where_the_other_stood(converge: Converge, tmp_path: Path) -> None:
    machine = machine_of(base={"t/36/scene": b"S\n", "t/33": b"T\n"})
    top = tmp_path / "top"
    (top / "33").mkdir(parents=True)
    (top / "33/inner").touch()
    (top / "36").touch()
    (top / "stray").touch()
    refused = converge("file.recurse", top, machine=machine, source="salt://t")
    assert refused.result is False
    result = converge("file.recurse", top, machine=machine, source="salt://t", clean=True)
    assert result.result is True, result.comment
    assert result.changes[str(top / "33")] == {"diff": "Replaced directory with a new file"}
    assert (top / "36/scene").read_bytes() + (top / "33").read_bytes() == b"S\nT\n"
    assert not (top / "stray").exists()


def test_new_files_show_nothing_of_owners_that_they_would_have_anyway(converge: Converge, tmp_path: Path) -> None:
    machine = machine_of(base={"t/a": b"A\n"})
    owner = {"user": os.geteuid(), "group": os.getegid(), "file_mode": "0640"}
    result = converge("file.recurse", tmp_path / "t", machine=machine, source="salt://t", **owner)
    assert result.changes[str(tmp_path / "t/a")] == {"diff": "New file", "mode": "0640"}


def test_sources_are_merged_and_the_earliest_wins(converge: Converge, tmp_path: Path) -> None:
    machine = machine_of(
        prod={"o/both": b"over", "o/file/inner": b"over", "o/dir": b"over"},
        base={"b/both": b"base", "b/file": b"base", "b/dir/inner": b"base", "b/own/x": b"base"},
    )
    sources = ["salt://o?saltenv=prod", "salt://b"]
    result = converge("file.recurse", tmp_path / "all", machine=machine, source=sources, merge=True)
    assert result.result is True, result.comment
    found = {
        str(one.relative_to(tmp_path / "all")): one.read_text()
        for one in (tmp_path / "all").rglob("*")
        if one.is_file()
    }
    assert found == {"both": "over", "file/inner": "over", "dir": "over", "own/x": "base"}
    converge("file.recurse", tmp_path / "one", machine=machine, source=sources)
    assert not (tmp_path / "one/own").exists()


def test_a_file_that_is_no_text_is_no_template(converge: Converge, tmp_path: Path) -> None:
    machine = machine_of(base={"t/a": b"{{ 1 + 1 }}\n", "t/sig": b"\x30\x45\xac\xff"})
    result = converge("file.recurse", tmp_path / "t", machine=machine, source="salt://t", template="jinja")
    assert result.result is True, result.comment
    assert (tmp_path / "t/a").read_text() == "2\n"
    assert (tmp_path / "t/sig").read_bytes() == b"\x30\x45\xac\xff"
    broken = machine_of(base={"a": "{{ 'ä' }}".encode("latin-1")})
    asked = {"source": "salt://a", "template": "jinja"}
    assert "not UTF-8" in converge("file.managed", tmp_path / "f", machine=broken, **asked).comment


def test_recurse_has_no_mode(converge: Converge, tmp_path: Path) -> None:
    told = converge("file.recurse", tmp_path / "t", source="salt://t", mode="0644").comment
    assert "'mode' is not allowed in 'file.recurse'. Please use 'file_mode' and 'dir_mode'." in told


def test_the_mode_of_a_directory_is_that_of_its_files_too(converge: Converge, tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "sub").mkdir(parents=True, mode=0o750)
    (top / "sub/file").touch(mode=0o640)
    assert converge("file.directory", top, dir_mode="0555", recurse=["mode"]).result is True
    assert [oct(one.stat().st_mode & 0o777) for one in (top, top / "sub", top / "sub/file")] == ["0o555"] * 3
    top.chmod(0o755)
    converge("file.directory", top, dir_mode="0755", file_mode="0600", recurse=["mode"])
    assert oct((top / "sub/file").stat().st_mode & 0o777) == "0o600"


@as_root
def test_owners_behind_links_that_are_followed(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "top/link").symlink_to(tmp_path / "other")
    asked = {"user": "daemon", "recurse": ["user"]}
    converge("file.directory", tmp_path / "top", **asked, follow_symlinks=True)
    assert ((tmp_path / "other").stat().st_uid, (tmp_path / "top/link").lstat().st_uid) == (1, 0)


@as_root
def test_links_of_other_users_are_not_followed_to_what_is_roots(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "top").mkdir()
    (tmp_path / "roots").touch()
    (tmp_path / "top/link").symlink_to(tmp_path / "roots")
    os.chown(tmp_path / "top/link", 1, 1, follow_symlinks=False)
    asked = {"user": "daemon", "recurse": ["user"], "follow_symlinks": True}
    assert converge("file.directory", tmp_path / "top", **asked).result is False
    assert (tmp_path / "roots").stat().st_uid == 0


@as_root
def test_folders_on_the_way_to_a_copy_belong_to_its_user(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    asked = {"source": str(tmp_path / "s"), "makedirs": True, "user": "daemon", "mode": "0644"}
    assert converge("file.copy", tmp_path / "a/b/c", **asked).result is True
    assert {(tmp_path / one).stat().st_uid for one in ("a", "a/b", "a/b/c")} == {1}
    assert oct((tmp_path / "a/b").stat().st_mode & 0o777) == "0o755"


def test_what_pruned_could_not_remove(converge: Converge, tmp_path: Path) -> None:
    top = tmp_path / "top"
    (top / "empty").mkdir(parents=True)
    failed = converge("file.pruned", top)
    assert (failed.result, failed.comment) == (False, f"Failed to remove directory {top}")
    assert failed.changes == {"deleted": [], "errors": [[str(top), "Directory not empty"]]}
    assert converge("file.pruned", top, recurse=True).comment == f"Recursively removed empty directories under {top}"


@pytest.mark.skipif(shutil.which("patch") is None, reason="the program patch is not installed")
class TestPatch:
    DIFF = b"--- a/f\n+++ b/f\n@@ -1 +1 @@\n-one\n+two\n"

    @pytest.mark.parametrize("options", ["-p1", "--strip=1", "-p 1"])
    def test_options_may_say_how_much_of_a_path_is_left_out(
        self, converge: Converge, tmp_path: Path, options: str
    ) -> None:
        (tmp_path / "f").write_text("one\n")
        asked: dict[str, Any] = {"source": "salt://d", "options": options}
        result = converge("file.patch", tmp_path, machine=machine_of(base={"d": self.DIFF}), **asked)
        assert (result.result, (tmp_path / "f").read_text()) == (True, "two\n"), result.comment

    def test_rejects_of_a_patch_that_does_not_fit_are_kept(
        self, converge: Converge, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        (tmp_path / "f").write_text("three\n")
        machine, rejects = machine_of(base={"d": self.DIFF}), tmp_path_factory.mktemp("r") / "rejected"
        told = converge("file.patch", tmp_path / "f", machine=machine, source="salt://d")
        assert "using the reject_file option" in told.comment
        asked = {"source": "salt://d", "reject_file": str(rejects)}
        chunk = Chunk(state="file", fun="patch", id="x", name=str(tmp_path / "f"), sls="s", arguments=asked)
        predicted = run({"k": chunk}, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)["k"]
        assert (predicted.result, rejects.exists()) == (False, False)
        failed = run({"k": chunk}, StateEngine(machine, test=False), test=False, clock=lambda: 0.0)["k"]
        assert failed.result is False
        assert f"saving rejects to file {rejects}" in failed.comment
        assert "+two" in rejects.read_text()
        assert (tmp_path / "f").read_text() == "three\n"


def test_a_file_is_moved_aside_for_a_directory(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "d").write_text("old")
    backup = tmp_path / "backup"
    backup.write_text("earlier")
    for fun, more in (("file.directory", {}), ("file.symlink", {"target": "/x"})):
        refused = converge(fun, tmp_path / "d", backupname=str(backup), **more)
        assert refused.result is False
        assert f"File exists where the backup target {backup} should go" in refused.comment
    assert backup.read_text() == "earlier"
    name = str(tmp_path / "d")
    foretold, done = (_moved_aside(name, str(backup), test=test) for test in (True, False))
    assert foretold.comment == f"{name} would be backed up and replaced with a new directory"
    assert foretold.changes == {
        name: {"directory": "new"},
        "backup": f"{name} would be renamed to {backup}",
        "forced": f"Existing file at backup path {backup} would be removed",
    }
    assert done.changes == {
        name: {"directory": "new"},
        "backup": f"{name} was renamed to {backup}",
        "forced": f"Existing file at backup path {backup} was removed",
    }
    assert (tmp_path / "d").is_dir()
    assert backup.read_text() == "old"


def _moved_aside(name: str, backup: str, *, test: bool) -> StateResult:
    arguments = {"backupname": backup, "force": True}
    chunk = Chunk(state="file", fun="directory", name=name, id=name, sls="s", arguments=arguments)
    return run({"k": chunk}, StateEngine(machine_of(), test=test), test=test, clock=lambda: 0.0)["k"]


LINKED = MemoryFiles(
    {
        "base": {
            "t/real/f": b"F\n",
            "t/plain": b"P\n",
            "t/folder/f": b"F\n",
            "t/file": b"P\n",
            "over/real": b"O\n",
            "over/plain/f": b"O\n",
        }
    },
    {"base": {"t/folder": "real", "t/file": "plain", "t/broken": "/nowhere", "over/both": "plain"}},
)


def test_symlinks_of_the_tree_are_kept(converge: Converge, tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=LINKED)
    top = tmp_path / "top"
    result = converge("file.recurse", top, machine=machine, source="salt://t", keep_symlinks=True)
    assert result.result is True, result.comment
    assert {str(one.relative_to(top)): one.is_symlink() and str(one.readlink()) for one in top.rglob("*")} == {
        "real": False, "real/f": False, "plain": False, "folder": "real", "file": "plain", "broken": "/nowhere",
    }  # fmt: skip
    assert result.changes[str(top / "folder")] == {"new": str(top / "folder")}
    converge("file.recurse", tmp_path / "files", machine=machine, source="salt://t")
    assert not (tmp_path / "files/folder").is_symlink()
    assert (tmp_path / "files/file").read_bytes() == b"P\n"


def test_of_several_sources_the_earliest_link_or_file_stays(converge: Converge, tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=LINKED)
    given = {"source": ["salt://over", "salt://t"], "merge": True, "keep_symlinks": True}
    result = converge("file.recurse", tmp_path / "top", machine=machine, **given)
    assert result.result is True, result.comment
    found = {str(one.relative_to(tmp_path / "top")): one.is_symlink() for one in (tmp_path / "top").rglob("*")}
    assert found == {"real": False, "plain": False, "plain/f": False, "both": True, "folder": True, "file": True,
                     "broken": True}  # fmt: skip


def test_what_stands_where_a_link_is_to_be_stays_unless_forced(converge: Converge, tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=LINKED)
    (tmp_path / "top/folder/inner").mkdir(parents=True)
    kept = {"machine": machine, "source": "salt://t", "keep_symlinks": True}
    refused = converge("file.recurse", tmp_path / "top", **kept)
    assert refused.result is False
    assert "force" in refused.comment
    assert (tmp_path / "top/folder/inner").is_dir()
    assert converge("file.recurse", tmp_path / "top", **kept, force_symlinks=True).result is True
    assert (tmp_path / "top/folder").is_symlink()


def test_cleaning_removes_nothing_behind_a_link(converge: Converge, tmp_path: Path) -> None:
    """`folder` was a directory with an `f`, and becomes a link to the directory `real`, which has an `f` as well."""
    top = tmp_path / "top"
    (top / "folder").mkdir(parents=True)
    (top / "folder/f").write_text("old")
    (top / "stray").touch()
    machine = LocalMachine(sources_port=LINKED)
    result = converge("file.recurse", top, machine=machine, source="salt://t", keep_symlinks=True, clean=True)
    assert result.result is True, result.comment
    assert (top / "real/f").read_text() == (top / "folder/f").read_text() == "F\n"
    assert (top / "folder").is_symlink()
    assert not (top / "stray").exists()


def test_a_template_may_empty_its_context(converge: Converge, tmp_path: Path) -> None:
    text = b"{% for item in data %}{% set key, value = item.popitem() %}{{ key }}={{ value }}\n{% endfor %}"
    asked = {"source": "salt://t", "template": "jinja", "context": {"data": [{"a": 1}, {"b": 2}]}}
    result = converge("file.managed", tmp_path / "f", machine=machine_of(base={"t": text}), **asked)
    assert result.result is True, result.comment
    assert (tmp_path / "f").read_text() == "a=1\nb=2\n"
