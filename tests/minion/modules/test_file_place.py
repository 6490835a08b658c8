"""file.rmdir and its neighbours, and functions whose keywords are data."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from minion.execution import CallFailed, Context, Modules


def call(fun: str, *args: Any, **kwargs: Any) -> Any:
    return Modules(Context(minion_id="web1")).call(fun, args, kwargs)


@pytest.fixture
def nested(tmp_path: Path) -> Path:
    """Two folders that are empty, one with a file, and a link to a folder."""
    top = tmp_path / "top"
    for name in ("a/deep", "b", "full"):
        (top / name).mkdir(parents=True)
    (top / "full/file").touch()
    return top


def test_rmdir_says_whether_all_are_gone(nested: Path) -> None:
    assert call("file.rmdir", str(nested / "b")) is True
    assert call("file.rmdir", str(nested / "a")) is False
    assert call("file.rmdir", str(nested), recurse=True) is False
    assert sorted(one.name for one in nested.iterdir()) == ["full"]


def test_rmdir_tells_what_it_did(nested: Path) -> None:
    (nested / "full/link").symlink_to(nested / "b")
    told = call("file.rmdir", str(nested), recurse=True, verbose=True)
    assert sorted(told["deleted"]) == [str(nested / name) for name in ("a", "a/deep", "b")]
    assert [path for path, _ in told["errors"]] == [str(nested / "full"), str(nested)]
    assert "Directory not empty" in told["errors"][0][1]
    assert told["result"] is False


def test_rmdir_of_old_directories(nested: Path) -> None:
    old = time.time() - 2 * 86400
    os.utime(nested / "b", (old, old))
    assert call("file.rmdir", str(nested), recurse=True, verbose=True, older_than=3)["deleted"] == []
    told = call("file.rmdir", str(nested), recurse=True, verbose=True, older_than=1)
    assert (told["deleted"], told["result"]) == ([str(nested / "b")], True)


def test_the_path_of_a_link_is_absolute() -> None:
    with pytest.raises(CallFailed, match="Link path must be absolute: x"):
        call("file.symlink", "/etc/hostname", "x")


def test_context_is_an_argument_of_a_state_like_any_other(tmp_path: Path) -> None:
    text = "{{ own }}"
    given = {"contents": text, "template": "jinja", "context": {"own": "value"}}
    result = call("state.single", "file.managed", str(tmp_path / "f"), **given)
    assert [one["result"] for one in result.values()] == [True]
    assert (tmp_path / "f").read_text() == "value\n"


def test_the_saltenv_of_a_state(tmp_path: Path) -> None:
    files = MemoryFiles({"base": {}, "prod": {"t/f": b"prod"}})
    modules = Modules(Context(minion_id="web1", make_files=lambda: files))
    for fun, args in (
        ("state.single", {"fun": "file.recurse", "name": str(tmp_path / "1"), "source": "salt://t", "__env__": "prod"}),
        ("state.low", {"data": {"state": "file", "fun": "recurse", "name": str(tmp_path / "2"), "source": "salt://t",
                                "__env__": "prod"}}),
    ):  # fmt: skip
        result = modules.call(fun, (), args)
        assert [one["result"] for one in result.values()] == [True]
    assert (tmp_path / "1/f").read_text() + (tmp_path / "2/f").read_text() == "prodprod"


def test_replace_in_another_encoding(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes("Version = '2.0'\r\nname = 'ä'\r\n".encode("utf-16"))
    asked = {"pattern": r"Version\s+=\s+'2\.0'", "repl": "Version = '3.0'", "encoding": "utf-16", "backup": False}
    assert call("file.replace", str(path), **asked, show_changes=False) is True
    assert path.read_bytes().decode("utf-16") == "Version = '3.0'\r\nname = 'ä'\r\n"
    assert call("file.replace", str(path), **asked, show_changes=False) is False


def test_a_link_as_its_directory_has_it(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    assert call("file.is_link", str(tmp_path / "link"), nostat=True) is True
    assert call("file.is_link", str(tmp_path), nostat=True) is False


def test_times_are_numbers(tmp_path: Path) -> None:
    with pytest.raises(CallFailed, match="atime and mtime must be integers"):
        call("file.touch", str(tmp_path / "f"), atime="string")
    assert call("file.touch", str(tmp_path / "f"), atime=1, mtime=2) is True
    assert (tmp_path / "f").stat().st_mtime == 2


def test_differences_that_are_ignored(tmp_path: Path) -> None:
    before, after, more = tmp_path / "before", tmp_path / "after", tmp_path / "more"
    before.write_text("b\na\n")
    after.write_text("a\nb\n")
    more.write_text("a\nb\nc\n")

    def get_diff(one: Path, other: Path, **asked: Any) -> Any:
        return call("file.get_diff", str(one), str(other), ignore_ordering=True, **asked)

    assert get_diff(before, after, show_filenames=False) == [False, "--- \n+++ \n@@ -1,2 +1,2 @@\n+a\n b\n-a\n"]
    assert get_diff(before, more, show_filenames=False) == [True, "--- \n+++ \n@@ -1,2 +1,3 @@\n+a\n b\n-a\n+c\n"]
    assert get_diff(before, before) == [False, ""]
    assert get_diff(before, after, show_changes=False) == "<show_changes=False>"


def test_what_would_change_besides_what_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("b\na\n")

    def check(name: Path, contents: str) -> Any:
        return call("file.check_managed_changes", str(name), contents=contents, ignore_ordering=True)

    assert check(path, "a\nb\n") == [False, {"diff": "--- \n+++ \n@@ -1,2 +1,2 @@\n+a\n b\n-a\n"}]
    assert check(path, "a\n")[0] is True
    assert check(path, "b\na\n") == [False, {}]
    assert check(tmp_path / "new", "a\n")[0] is True
    shown = call("file.check_managed_changes", str(tmp_path / "new"), contents="a\n", new_file_diff=True)
    assert shown == {"diff": "--- \n+++ \n@@ -0,0 +1 @@\n+a\n"}
    assert call("file.manage_file", str(path), contents="a\nb\n", ignore_ordering=True)["skip_req"] is True
    assert "skip_req" not in call("file.manage_file", str(path), contents="c\n", ignore_ordering=True)
