"""file.copy, rename, hardlink, touch, tidied, serialize and their kin."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.types import StateResult
from minion.machine.machine import LocalMachine

Settles = Callable[..., StateResult]


def test_a_copy_keeps_what_is_there_unless_forced(settles: Settles, tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "a/b"
    source.write_text("x\n")
    source.chmod(0o640)
    assert "is not present" in settles("file.copy", target, source=str(source)).comment
    result = settles("file.copy", target, source=str(source), makedirs=True)
    assert result.changes == {str(target): str(source)}
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("x\n", 0o640)
    source.write_text("y\n")
    assert settles("file.copy", target, source=str(source)).comment == (
        f'The target file "{target}" exists and will not be overwritten'
    )
    settles("file.copy", target, source=str(source), force=True, mode="0600")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("y\n", 0o600)


def test_a_tree_is_copied_with_its_links(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "d/sub").mkdir(parents=True)
    (tmp_path / "d/sub/f").write_text("1")
    (tmp_path / "d/link").symlink_to("sub/f")
    settles("file.copy", tmp_path / "e", source=str(tmp_path / "d"))
    assert (tmp_path / "e/sub/f").read_text() == "1"
    assert os.readlink(tmp_path / "e/link") == "sub/f"  # noqa: PTH115
    refused = settles("file.copy", tmp_path / "d/inner", source=str(tmp_path / "d"), force=True)
    assert "same or below" in refused.comment


def test_a_rename_happens_once(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    result = settles("file.rename", tmp_path / "f", source=str(tmp_path / "s"))
    assert result.comment == f'Moved "{tmp_path}/s" to "{tmp_path}/f"'
    (tmp_path / "s").write_text("y")
    assert "will not be overwritten" in settles("file.rename", tmp_path / "f", source=str(tmp_path / "s")).comment
    settles("file.rename", tmp_path / "f", source=str(tmp_path / "s"), force=True)
    assert (tmp_path / "f").read_text() == "y"


def test_hard_links(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    settles("file.hardlink", tmp_path / "f", target=str(tmp_path / "s"))
    assert (tmp_path / "f").samefile(tmp_path / "s")
    (tmp_path / "g").write_text("other")
    assert settles("file.hardlink", tmp_path / "g", target=str(tmp_path / "s")).result is False
    forced = settles("file.hardlink", tmp_path / "g", target=str(tmp_path / "s"), force=True)
    assert forced.changes["forced"] == "File for hard link was forcibly replaced"
    assert (tmp_path / "g").samefile(tmp_path / "s")


def test_presence(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert settles("file.exists", tmp_path / "f").comment == f"Path {tmp_path}/f exists"
    assert settles("file.exists", tmp_path / "g").comment == f"Specified path {tmp_path}/g does not exist"
    assert settles("file.missing", tmp_path / "f").result is False
    assert settles("file.missing", tmp_path / "g").result is True


def test_touch_sets_what_it_is_given(settles: Settles, tmp_path: Path) -> None:
    assert settles("file.touch", tmp_path / "f").changes == {"new": f"{tmp_path}/f"}
    assert settles("file.touch", tmp_path / "f").changes == {}
    assert settles("file.touch", tmp_path / "f", mtime=5).changes == {"touched": f"{tmp_path}/f"}
    assert (tmp_path / "f").stat().st_mtime == 5
    assert "Directory not present" in settles("file.touch", tmp_path / "a/b").comment
    assert settles("file.touch", tmp_path / "f", mtime="noon").result is False


def test_tidied_takes_what_is_old_and_what_is_large(settles: Settles, tmp_path: Path) -> None:
    top = tmp_path / "d"
    (top / "sub").mkdir(parents=True)
    for name, size in (("a.log", 10), ("sub/b.log", 10), ("c.txt", 1)):
        (top / name).write_text("x" * size)
    os.utime(top / "c.txt", (0, 0))
    settles("file.tidied", top, matches=[r".*\.log"], size="5b", age_size_only="size", exclude=["b"])
    assert sorted(path.name for path in top.rglob("*")) == ["b.log", "c.txt", "sub"]
    settles("file.tidied", top, age=10, size="1g", time_comparison="mtime")
    assert sorted(path.name for path in top.rglob("*")) == ["b.log", "sub"]
    assert settles("file.tidied", top, age="old").result is False
    assert settles("file.tidied", top, size="big").result is False


def test_pruned_takes_empty_directories_only(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "d/e/f").mkdir(parents=True)
    assert settles("file.pruned", tmp_path / "d").result is False
    settles("file.pruned", tmp_path / "d", recurse=True)
    assert not (tmp_path / "d").exists()
    (tmp_path / "d").mkdir()
    assert settles("file.pruned", tmp_path / "d").changes == {"deleted": f"{tmp_path}/d"}


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"dataset": {"b": [1], "a": "é"}, "serializer": "json"}, '{\n  "a": "é",\n  "b": [\n    1\n  ]\n}\n'),
        ({"dataset": {"b": [1, None]}}, "b:\n- 1\n- null\n"),
        ({"dataset_pillar": "app:data", "formatter": "yaml"}, "k: v\n"),
        ({"dataset": {"a": 1, "t": {"x": [1.5, "q"], "n": [{"y": True}]}}, "serializer": "toml"},
         'a = 1\n\n[t]\nx = [1.5, "q"]\n\n[[t.n]]\ny = true\n'),
        ({"dataset": {"S": {"k": "v"}}, "serializer": "configparser"}, "[S]\nk = v\n\n\n"),
    ],
)  # fmt: skip
def test_data_as_text(settles: Settles, tmp_path: Path, arguments: Any, text: str) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"app": {"data": {"k": "v"}}})
    settles("file.serialize", tmp_path / "f", machine=machine, mode="0600", **arguments)
    assert (tmp_path / "f").read_text() == text
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_serialize_merges_into_what_is_there(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"a": 2, "q": {"r": 1}}')
    settles("file.serialize", tmp_path / "f", dataset={"q": {"s": 2}}, serializer="json", merge_if_exists=True)
    assert json.loads((tmp_path / "f").read_text()) == {"a": 2, "q": {"r": 1, "s": 2}}
    (tmp_path / "f").write_text("{not json")
    broken = settles("file.serialize", tmp_path / "f", dataset={"a": 1}, serializer="json", merge_if_exists=True)
    assert "Failed to deserialize existing data" in broken.comment
    assert settles("file.serialize", tmp_path / "f", dataset={"a": 1}, serializer="xml").result is False
    assert settles("file.serialize", tmp_path / "f", dataset={"a": None}, serializer="toml").result is False


def test_decode(settles: Settles, tmp_path: Path) -> None:
    settles("file.decode", tmp_path / "f", encoded_data="aGVsbG8=")
    assert (tmp_path / "f").read_text() == "hello"
    assert "no base64" in settles("file.decode", tmp_path / "f", encoded_data="%").comment


def test_what_was_accumulated_reaches_the_template(settles: Settles, tmp_path: Path) -> None:
    template = b"{% for line in accumulator['x'] %}{{ line }}\n{% endfor %}"
    machine = LocalMachine(sources_port=MemoryFiles({"base": {"t": template}}))
    target = str(tmp_path / "f")
    settles("file.accumulated", "x", machine=machine, filename=target, text=["a", "b"])
    settles("file.accumulated", "x", machine=machine, filename=target, text="b")
    settles("file.managed", target, machine=machine, source="salt://t", template="jinja")
    assert (tmp_path / "f").read_text() == "a\nb\n"


def test_contents_may_be_a_template(settles: Settles, tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"who": "you"})
    settles("file.managed", tmp_path / "f", machine=machine, contents="hi {{ pillar.who }}", template="jinja")
    assert (tmp_path / "f").read_text() == "hi you\n"
    settles("file.managed", tmp_path / "g", machine=machine, contents="hi ${x}", template="mako", context={"x": 1})
    assert (tmp_path / "g").read_text() == "hi 1\n"


def test_check_cmd_stands_before_the_change(settles: Settles, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("good\n")
    refused = settles("file.managed", tmp_path / "f", contents="bad", check_cmd="grep -q good", tmp_dir=str(tmp_path))
    assert refused.comment.startswith("check_cmd execution failed")
    assert (tmp_path / "f").read_text() == "good\n"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    settles("file.managed", tmp_path / "f", contents="good 2", check_cmd="grep -q good", tmp_dir=str(tmp_path))
    assert (tmp_path / "f").read_text() == "good 2\n"


def test_a_file_of_digests(settles: Settles, tmp_path: Path) -> None:
    import hashlib

    (tmp_path / "s").write_bytes(b"x")
    right, wrong = (hashlib.sha256(data).hexdigest() for data in (b"x", b"y"))
    (tmp_path / "sums").write_text(f"{wrong}  other\n{right}  s\n")
    source = {"source": str(tmp_path / "s"), "source_hash": str(tmp_path / "sums")}
    assert settles("file.managed", tmp_path / "f", **source).result is True
    refused = settles("file.managed", tmp_path / "g", **source, source_hash_name="other")
    assert "does not match actual checksum" in refused.comment
