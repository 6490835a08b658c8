"""States that edit files: what test=True says is done, a second run does nothing, and what is wrong is said."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

FILES = MemoryFiles({"base": {"lines": b"from {{ who }}\n", "second": b"two\n"}})
Do = Callable[..., StateResult]


@pytest.fixture
def do(tmp_path: Path) -> Do:
    """do(fun, **arguments): planned under test, where nothing is written, then done, then done again."""
    machine = LocalMachine(sources_port=FILES)

    def once(fun: str, name: str, arguments: Any, *, test: bool) -> StateResult:
        chunk = Chunk(state="file", fun=fun, id="x", name=name, sls="s", arguments=arguments)
        engine = StateEngine(machine, test=test, backup_dir=str(tmp_path / "kept"))
        return run({"k": chunk}, engine, test=test, clock=lambda: 0.0)["k"]

    def call(fun: str, name: Any = None, **arguments: Any) -> StateResult:
        where = str(tmp_path / "f") if name is None else str(name)
        before = held(tmp_path)
        predicted = once(fun, where, arguments, test=True)
        assert held(tmp_path) == before
        result = once(fun, where, arguments, test=False)
        assert predicted.changes == result.changes
        assert predicted.result is (None if result.changes else result.result)
        if result.changes:
            assert result.result is True, result.comment
            again = once(fun, where, arguments, test=False)
            assert (again.result, again.changes) == (True, {})
        else:
            assert held(tmp_path) == before
            assert predicted.comment == result.comment
        return result

    return call


def held(top: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in top.rglob("*") if path.is_file()}


THREE = "one\ntwo\nthree\n"
BLOCK = "top\n#-- start managed zone --\nold\n#-- end managed zone --\nbottom\n"
KEYS = "a=1\n#b=2\nc = 3\n"


@pytest.mark.parametrize(
    ("fun", "old", "arguments", "new"),
    [
        ("replace", THREE, {"pattern": "t(w|h)", "repl": "X\\1"}, "one\nXwo\nXhree\n"),
        ("replace", THREE, {"pattern": "^two$", "repl": "\\1", "backslash_literal": True}, "one\n\\1\nthree\n"),
        ("replace", THREE, {"pattern": "TWO", "repl": "2", "flags": ["IGNORECASE"]}, "one\n2\nthree\n"),
        ("replace", "a", {"pattern": "z", "repl": "new", "append_if_not_found": True}, "a\nnew\n"),
        ("replace", THREE, {"pattern": "z", "repl": "new", "prepend_if_not_found": True}, "new\n" + THREE),
        (
            "replace",
            "a\n",
            {"pattern": "z", "repl": "x", "append_if_not_found": True, "not_found_content": "y"},
            "a\ny\n",
        ),
        ("comment", THREE, {"regex": "^t"}, "one\n#two\n#three\n"),
        ("comment", THREE, {"regex": "^two$", "char": "; "}, "one\n; two\nthree\n"),
        ("uncomment", "#one\n# two\n", {"regex": "^one"}, "one\n# two\n"),
        ("append", THREE, {"text": ["two", "four\nfive"]}, THREE + "four\nfive\n"),
        ("append", "a", {"text": "b"}, "a\nb\n"),
        ("append", None, {"text": "b"}, "b\n"),
        ("append", "a\n", {"source": "salt://lines", "context": {"who": "w"}}, "a\nfrom w\n"),
        ("append", "a\n", {"sources": ["salt://lines", "salt://second"], "defaults": {"who": "d"}}, "a\nfrom d\ntwo\n"),
        ("prepend", THREE, {"text": ["one", "zero"]}, "zero\n" + THREE),
        ("prepend", THREE, {"text": ["two", "one"], "header": True}, "two\none\n" + THREE),
        ("line", THREE, {"mode": "ensure", "content": "new", "after": "one"}, "one\nnew\ntwo\nthree\n"),
        ("line", "  a\n  b\n", {"mode": "ensure", "content": "c", "before": "b"}, "  a\n  c\n  b\n"),
        (
            "line",
            THREE,
            {"mode": "ensure", "content": "2", "after": "one", "before": "three"},
            "one\n2\nthree\n",
        ),
        ("line", THREE, {"mode": "replace", "content": "2", "match": "two"}, "one\n2\nthree\n"),
        ("line", THREE, {"mode": "delete", "match": "two"}, "one\nthree\n"),
        ("line", THREE, {"mode": "insert", "content": "end", "location": "end"}, THREE + "end\n"),
        ("line", THREE, {"mode": "insert", "content": "start", "location": "start"}, "start\n" + THREE),
        ("line", None, {"mode": "insert", "content": "a", "location": "end", "create": True}, "a\n"),
        ("blockreplace", BLOCK, {"content": "a\nb"}, BLOCK.replace("old", "a\nb")),
        (
            "blockreplace",
            "a",
            {"content": "x", "append_if_not_found": True},
            "a\n#-- start managed zone --\nx\n#-- end managed zone --\n",
        ),
        (
            "blockreplace",
            THREE,
            {"content": "x", "marker_start": "<", "marker_end": ">", "insert_after_match": "^one"},
            "one\n<\nx\n>\ntwo\nthree\n",
        ),
        (
            "blockreplace",
            "a < b\nx\ny > z\n",
            {"content": "1", "marker_start": "<", "marker_end": ">"},
            "a < b\n1\n> z\n",
        ),
        ("keyvalue", KEYS, {"key": "a", "value": "2"}, "a=2\n#b=2\nc = 3\n"),
        ("keyvalue", KEYS, {"key": "b", "value": "2", "uncomment": "#"}, "a=1\nb=2\nc = 3\n"),
        ("keyvalue", KEYS, {"key": "c", "value": 4, "separator": " = "}, "a=1\n#b=2\nc = 4\n"),
        ("keyvalue", KEYS, {"key_values": {"z": "8"}, "append_if_not_found": True}, KEYS + "z=8\n"),
        ("keyvalue", KEYS, {"key_values": {"a": "1"}, "prune": True}, "a=1\n"),
        ("keyvalue", "a=1\na=2\n", {"key": "a", "value": "3"}, "a=3\n"),
        ("keyvalue", None, {"key": "a", "value": "1", "create_if_missing": True}, "a=1\n"),
    ],
)
def test_what_becomes_of_a_file(do: Do, tmp_path: Path, fun: str, old: Any, arguments: Any, new: str) -> None:
    if old is not None:
        (tmp_path / "f").write_text(old)
        (tmp_path / "f").chmod(0o604)
    result = do(fun, **arguments)
    assert result.changes["diff"]
    assert (tmp_path / "f").read_text() == new
    if old is not None:
        assert (tmp_path / "f").stat().st_mode & 0o777 == 0o604


@pytest.mark.parametrize(
    ("fun", "arguments", "comment"),
    [
        ("replace", {"pattern": "z", "repl": "y"}, "No changes needed to be made"),
        ("comment", {"regex": "one"}, "Pattern already commented"),
        ("comment", {"regex": "zzz", "ignore_missing": True}, "Pattern not found and ignore_missing set to True"),
        ("uncomment", {"regex": "two"}, "Pattern already uncommented"),
        ("append", {"text": " two "}, "File {name} is in correct state"),
        ("prepend", {"text": "two"}, "File {name} is in correct state"),
        ("line", {"mode": "ensure", "content": "two", "after": "one"}, "No changes needed to be made"),
        ("keyvalue", {"key": "k", "value": "v"}, ""),
    ],
)
def test_nothing_to_do(do: Do, tmp_path: Path, fun: str, arguments: Any, comment: str) -> None:
    (tmp_path / "f").write_text("#one\ntwo\nk=v\n")
    result = do(fun, **arguments)
    assert (result.result, result.changes, result.comment) == (True, {}, comment.format(name=tmp_path / "f"))


@pytest.mark.parametrize(
    ("fun", "arguments", "said"),
    [
        ("replace", {"pattern": "(", "repl": "x"}, "is no regular expression"),
        ("replace", {"pattern": "o", "repl": "\\9"}, "does not fit the pattern"),
        ("replace", {"pattern": "o", "repl": "x", "flags": ["NONE"]}, "'NONE' is no flag"),
        ("replace", {"pattern": "o", "repl": "0", "backup": "../../x"}, "a suffix such as .bak"),
        ("comment", {"regex": "^zz"}, "zz: Pattern not found"),
        ("comment", {"regex": "wo"}, "wo: Pattern not found"),
        ("uncomment", {"regex": "zz"}, "zz: Pattern not found"),
        ("append", {}, "No text found to append"),
        ("append", {"text": {"a": 1}}, "text must be text"),
        ("append", {"source": "salt://nope"}, "Source file salt://nope not found"),
        ("line", {"content": "x"}, "Mode was not defined"),
        ("line", {"content": "x", "mode": "put"}, 'Unknown mode: "put"'),
        ("line", {"mode": "ensure", "content": "x"}, "Unable to ensure line"),
        ("line", {"mode": "ensure", "content": "x", "after": "o"}, 'Found more than expected occurrences in "after"'),
        ("blockreplace", {"content": "x"}, "Markers were not found in file"),
        ("blockreplace", {"content": "x", "marker_start": "one"}, "Unterminated marked block"),
        ("blockreplace", {"append_if_not_found": True, "prepend_if_not_found": True}, "Only one of"),
        ("keyvalue", {}, "key and value not supplied and key_values is empty"),
    ],
)
def test_what_is_refused(do: Do, tmp_path: Path, fun: str, arguments: Any, said: str) -> None:
    (tmp_path / "f").write_text(THREE)
    result = do(fun, **arguments)
    assert result.result is False
    assert said in result.comment
    assert (tmp_path / "f").read_text() == THREE


@pytest.mark.parametrize("fun", ["replace", "comment", "line", "blockreplace", "keyvalue"])
def test_a_file_that_is_not_there(do: Do, fun: str) -> None:
    arguments = {
        "replace": {"pattern": "a", "repl": "b"},
        "comment": {"regex": "a"},
        "line": {"mode": "delete", "content": "a"},
        "keyvalue": {"key": "a", "value": "b"},
    }
    result = do(fun, **arguments.get(fun, {}))
    assert result.result is False
    assert "file not found" in result.comment or "unable to open" in result.comment


def test_what_is_replaced_is_kept(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\n")
    do("replace", pattern="one", repl="two")
    assert (tmp_path / "f.bak").read_text() == "one\n"
    do("replace", pattern="two", repl="three", backup="minion")
    kept = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert [path.read_text() for path in kept] == ["two\n"]


def test_bytes_that_are_no_text_stay(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"caf\xe9\r\none\r\n")
    do("append", text="two")
    assert (tmp_path / "f").read_bytes() == b"caf\xe9\r\none\r\ntwo\n"
    (tmp_path / "f").write_bytes(b"a\0b")
    assert "binary file" in do("append", text="two").comment


def test_a_symlink_is_edited_where_it_points(do: Do, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("one\n")
    (tmp_path / "f").symlink_to("real")
    do("append", text="two")
    assert (tmp_path / "f").is_symlink()
    assert (tmp_path / "real").read_text() == "one\ntwo\n"


def test_a_pattern_that_never_comes_to_rest_is_said(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    arguments = {"pattern": "a", "repl": "aa"}
    chunk = Chunk(state="file", fun="replace", id="x", name=str(tmp_path / "f"), sls="s", arguments=arguments)
    engine = StateEngine(LocalMachine(sources_port=FILES))
    result = run({"k": chunk}, engine, test=False, clock=lambda: 0.0)["k"]
    assert result.result is False
    assert "did not converge" in result.comment


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_what_is_kept_belongs_to_the_files_owner(do: Do, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\n")
    (tmp_path / "f").chmod(0o640)
    os.chown(tmp_path / "f", 1234, 1235)
    assert do("replace", pattern="one", repl="two").result is True
    kept = (tmp_path / "f.bak").stat()
    assert (kept.st_uid, kept.st_gid, kept.st_mode & 0o777) == (1234, 1235, 0o640)
