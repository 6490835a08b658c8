"""file.copy, rename, hardlink, touch, tidied, serialize and their kin."""

import json
import os
import pwd
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


def test_a_copy_keeps_what_is_there_unless_forced(converge: Converge, tmp_path: Path) -> None:
    source, target = tmp_path / "s", tmp_path / "a/b"
    source.write_text("x\n")
    source.chmod(0o640)
    assert "is not present" in converge("file.copy", target, source=str(source)).comment
    result = converge("file.copy", target, source=str(source), makedirs=True)
    assert result.changes == {str(target): str(source)}
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("x\n", 0o640)
    source.write_text("y\n")
    assert converge("file.copy", target, source=str(source)).comment == (
        f'The target file "{target}" exists and will not be overwritten'
    )
    converge("file.copy", target, source=str(source), force=True, mode="0600")
    assert (target.read_text(), target.stat().st_mode & 0o777) == ("y\n", 0o600)


def test_a_tree_is_copied_with_its_links(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "d/sub").mkdir(parents=True)
    (tmp_path / "d/sub/f").write_text("1")
    (tmp_path / "d/link").symlink_to("sub/f")
    converge("file.copy", tmp_path / "e", source=str(tmp_path / "d"))
    assert (tmp_path / "e/sub/f").read_text() == "1"
    assert os.readlink(tmp_path / "e/link") == "sub/f"  # noqa: PTH115
    refused = converge("file.copy", tmp_path / "d/inner", source=str(tmp_path / "d"), force=True)
    assert "same or below" in refused.comment


def test_a_rename_happens_once(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    result = converge("file.rename", tmp_path / "f", source=str(tmp_path / "s"))
    assert result.comment == f'Moved "{tmp_path}/s" to "{tmp_path}/f"'
    (tmp_path / "s").write_text("y")
    assert "will not be overwritten" in converge("file.rename", tmp_path / "f", source=str(tmp_path / "s")).comment
    converge("file.rename", tmp_path / "f", source=str(tmp_path / "s"), force=True)
    assert (tmp_path / "f").read_text() == "y"


def test_hard_links(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "s").write_text("x")
    converge("file.hardlink", tmp_path / "f", target=str(tmp_path / "s"))
    assert (tmp_path / "f").samefile(tmp_path / "s")
    (tmp_path / "g").write_text("other")
    assert converge("file.hardlink", tmp_path / "g", target=str(tmp_path / "s")).result is False
    forced = converge("file.hardlink", tmp_path / "g", target=str(tmp_path / "s"), force=True)
    assert forced.changes["forced"] == "File for hard link was forcibly replaced"
    assert (tmp_path / "g").samefile(tmp_path / "s")


def test_presence(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert converge("file.exists", tmp_path / "f").comment == f"Path {tmp_path}/f exists"
    assert converge("file.exists", tmp_path / "g").comment == f"Specified path {tmp_path}/g does not exist"
    assert converge("file.missing", tmp_path / "f").result is False
    assert converge("file.missing", tmp_path / "g").result is True


def test_touch_sets_what_it_is_given(converge: Converge, tmp_path: Path) -> None:
    assert converge("file.touch", tmp_path / "f").changes == {"new": f"{tmp_path}/f"}
    assert converge("file.touch", tmp_path / "f").changes == {}
    assert converge("file.touch", tmp_path / "f", mtime=5).changes == {"touched": f"{tmp_path}/f"}
    assert (tmp_path / "f").stat().st_mtime == 5
    assert "Directory not present" in converge("file.touch", tmp_path / "a/b").comment
    assert converge("file.touch", tmp_path / "f", mtime="noon").result is False


def test_tidied_takes_what_is_old_and_what_is_large(converge: Converge, tmp_path: Path) -> None:
    top = tmp_path / "d"
    (top / "sub").mkdir(parents=True)
    for name, size in (("a.log", 10), ("sub/b.log", 10), ("c.txt", 1)):
        (top / name).write_text("x" * size)
    os.utime(top / "c.txt", (0, 0))
    converge("file.tidied", top, matches=[r".*\.log"], size="5b", age_size_only="size", exclude=["b"])
    assert sorted(path.name for path in top.rglob("*")) == ["b.log", "c.txt", "sub"]
    converge("file.tidied", top, age=10, size="1g", time_comparison="mtime")
    assert sorted(path.name for path in top.rglob("*")) == ["b.log", "sub"]
    assert converge("file.tidied", top, age="old").result is False
    assert converge("file.tidied", top, size="big").result is False


def test_pruned_takes_empty_directories_only(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "d/e/f").mkdir(parents=True)
    assert converge("file.pruned", tmp_path / "d").result is False
    converge("file.pruned", tmp_path / "d", recurse=True)
    assert not (tmp_path / "d").exists()
    (tmp_path / "d").mkdir()
    assert converge("file.pruned", tmp_path / "d").changes == {"deleted": f"{tmp_path}/d"}


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
def test_data_as_text(converge: Converge, tmp_path: Path, arguments: Any, text: str) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"app": {"data": {"k": "v"}}})
    converge("file.serialize", tmp_path / "f", machine=machine, mode="0600", **arguments)
    assert (tmp_path / "f").read_text() == text
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o600


def test_serialize_merges_into_what_is_there(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "f").write_text('{"a": 2, "q": {"r": 1}}')
    converge("file.serialize", tmp_path / "f", dataset={"q": {"s": 2}}, serializer="json", merge_if_exists=True)
    assert json.loads((tmp_path / "f").read_text()) == {"a": 2, "q": {"r": 1, "s": 2}}
    (tmp_path / "f").write_text("{not json")
    broken = converge("file.serialize", tmp_path / "f", dataset={"a": 1}, serializer="json", merge_if_exists=True)
    assert "Failed to deserialize existing data" in broken.comment
    assert converge("file.serialize", tmp_path / "f", dataset={"a": 1}, serializer="xml").result is False
    assert converge("file.serialize", tmp_path / "f", dataset={"a": None}, serializer="toml").result is False


def test_decode(converge: Converge, tmp_path: Path) -> None:
    converge("file.decode", tmp_path / "f", encoded_data="aGVsbG8=")
    assert (tmp_path / "f").read_text() == "hello"
    assert "no base64" in converge("file.decode", tmp_path / "f", encoded_data="%").comment


def test_what_was_accumulated_reaches_the_template(converge: Converge, tmp_path: Path) -> None:
    template = b"{% for line in accumulator['x'] %}{{ line }}\n{% endfor %}"
    machine = LocalMachine(sources_port=MemoryFiles({"base": {"t": template}}))
    target = str(tmp_path / "f")
    converge("file.accumulated", "x", machine=machine, filename=target, text=["a", "b"])
    converge("file.accumulated", "x", machine=machine, filename=target, text="b")
    converge("file.managed", target, machine=machine, source="salt://t", template="jinja")
    assert (tmp_path / "f").read_text() == "a\nb\n"


def test_a_block_gets_the_text_of_the_states_that_name_it(tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}))
    target = tmp_path / "f"
    target.write_text("#\n")

    def one(fun: str, own_id: str, name: str, **arguments: Any) -> Chunk:
        return Chunk(state="file", fun=fun, id=own_id, name=name, sls="s", arguments=arguments)

    block = {"append_if_not_found": True, "backup": False}
    run(
        {
            "1": one("accumulated", "a", "a", filename=str(target), text="foo", require_in=[{"file": "first"}]),
            "2": one("accumulated", "b", "b", filename=str(target), text="bar", watch_in=[{"file": "second"}]),
            "3": one("blockreplace", "first", str(target), marker_start="<1", marker_end="1>", **block),
            "4": one("blockreplace", "second", str(target), marker_start="<2", marker_end="2>", **block),
            "5": one("blockreplace", "third", str(target), marker_start="<3", marker_end="3>", **block),
        },
        StateEngine(machine, test=False),
        test=False,
        clock=lambda: 0.0,
    )
    assert target.read_text() == "#\n<1\nfoo\n1>\n<2\nbar\n2>\n<3\nfoo\nbar\n3>\n"


def test_contents_may_be_a_template(converge: Converge, tmp_path: Path) -> None:
    machine = LocalMachine(sources_port=MemoryFiles({}), pillar={"who": "you"})
    converge("file.managed", tmp_path / "f", machine=machine, contents="hi {{ pillar.who }}", template="jinja")
    assert (tmp_path / "f").read_text() == "hi you\n"
    converge("file.managed", tmp_path / "g", machine=machine, contents="hi ${x}", template="mako", context={"x": 1})
    assert (tmp_path / "g").read_text() == "hi 1\n"


def test_check_cmd_stands_before_the_change(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("good\n")
    refused = converge("file.managed", tmp_path / "f", contents="bad", check_cmd="grep -q good", tmp_dir=str(tmp_path))
    assert refused.comment.startswith("check_cmd execution failed")
    assert (tmp_path / "f").read_text() == "good\n"
    assert [path.name for path in tmp_path.iterdir()] == ["f"]
    converge("file.managed", tmp_path / "f", contents="good 2", check_cmd="grep -q good", tmp_dir=str(tmp_path))
    assert (tmp_path / "f").read_text() == "good 2\n"
    of_a_block = "sh -c 'grep -q good \"$0\"'\n"
    converge("file.managed", tmp_path / "f", contents="good 3", check_cmd=of_a_block, tmp_dir=str(tmp_path))
    assert (tmp_path / "f").read_text() == "good 3\n"


def test_options_of_a_deserializer_that_reads_nothing_are_a_warning(converge: Converge, tmp_path: Path) -> None:
    given = {"dataset": {"S": {"k": "v"}}, "formatter": "configparser", "deserializer_opts": [{"defaults": {"x": "y"}}]}
    said = converge("file.serialize", tmp_path / "f", **given).warnings
    assert said == ("The 'deserializer_opts' option is ignored unless merge_if_exists is set to True.",)
    assert converge("file.serialize", tmp_path / "g", merge_if_exists=True, **given).warnings == ()


def test_options_of_configparser_give_defaults_to_what_is_read_and_written(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("[foo]\nbar = %(x)s\n")
    options = {"serializer_opts": [{"defaults": {"y": "2"}}], "deserializer_opts": [{"defaults": {"x": "1"}}]}
    given = {"dataset": {"foo": {"abc": 3}}, "formatter": "configparser", "merge_if_exists": True}
    assert converge("file.serialize", tmp_path / "f", **given, **options).result is True
    assert (tmp_path / "f").read_text() == "[DEFAULT]\ny = 2\n\n[foo]\nbar = 1\nx = 1\nabc = 3\n\n\n"


def test_a_file_of_digests(converge: Converge, tmp_path: Path) -> None:
    import hashlib

    (tmp_path / "s").write_bytes(b"x")
    right, wrong = (hashlib.sha256(data).hexdigest() for data in (b"x", b"y"))
    (tmp_path / "sums").write_text(f"{wrong}  other\n{right}  s\n")
    source = {"source": str(tmp_path / "s"), "source_hash": str(tmp_path / "sums")}
    assert converge("file.managed", tmp_path / "f", **source).result is True
    refused = converge("file.managed", tmp_path / "g", **source, source_hash_name="other")
    assert "does not match actual checksum" in refused.comment


def test_contents_given_as_a_mapping_are_its_keys(converge: Converge, tmp_path: Path) -> None:
    converge("file.managed", tmp_path / "f", contents={"C": "charge", "P": "parity"})
    assert (tmp_path / "f").read_text() == "C\nP\n"


def test_the_difference_of_a_text_in_latin_1(converge: Converge, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("<html>\n</html>\n")
    data = "<html>\nräksmörgås and more text\n</html>\n".encode("latin-1")
    machine = LocalMachine(sources_port=MemoryFiles({"base": {"s": data}}))
    assert (
        "+räksmörgås and"
        in converge("file.managed", tmp_path / "f", machine=machine, source="salt://s").changes["diff"]
    )


def test_a_local_source_that_is_not_there(converge: Converge, tmp_path: Path) -> None:
    told = converge("file.managed", tmp_path / "f", source=str(tmp_path / "nowhere")).comment
    assert told == f"Unable to manage file: Source file {tmp_path}/nowhere does not exist"


def test_a_name_may_begin_with_a_home(converge: Converge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    result = converge("file.managed", "~/.my.cnf", contents="[client]")
    assert (result.name, (tmp_path / ".my.cnf").read_text()) == (f"{tmp_path}/.my.cnf", "[client]\n")
    assert converge("file.copy", "~/copy", source="~/.my.cnf").changes == {f"{tmp_path}/copy": f"{tmp_path}/.my.cnf"}
    converge("file.directory", "~/d/e", makedirs=True)
    assert (tmp_path / "d/e").is_dir()
    converge("file.absent", "~/d")
    assert not (tmp_path / "d").exists()
    assert converge("file.exists", "~").result is True
    assert converge("file.exists", f"~{pwd.getpwuid(os.getuid()).pw_name}").result is True
    assert (
        converge("file.exists", "~no_such_user/a").comment == "Specified file ~no_such_user/a is not an absolute path"
    )


def test_the_home_of_a_user_that_the_run_makes_is_foretold(tmp_path: Path) -> None:
    engine = StateEngine(LocalMachine(sources_port=MemoryFiles({})), test=True)
    chunks = {
        "u": Chunk(state="user", fun="present", id="u", name="salternhome", sls="s", order=1,
                   arguments={"home": str(tmp_path)}),
        "f": Chunk(state="file", fun="managed", id="f", name="~salternhome/a", sls="s", order=2,
                   arguments={"contents": "x"}),
    }  # fmt: skip
    result = run(chunks, engine, test=True, clock=lambda: 0.0)["f"]
    assert (result.result, result.name) == (None, f"{tmp_path}/a")
