"""Laws of file states over random trees: what test=True says is what the run does, and a second run does nothing.

These trees hold symlinks, and file states follow some of them as they should. So that no example can ever write outside
its own folder, links point to siblings only, and the machine checks each write before it is made.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from effort import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

FILES = MemoryFiles({"base": {"src/a": b"1\n", "src/b/a": b"2\n", "src/b/b": b"\0", "one": b"one\n"}})
NAMES = ("a", "b")
MODES = ("0600", "0644", "0750")
SIBLINGS = ("a", "b", "missing")


class Escaped(BaseException):
    """A write outside the example's folder. Not an Exception: the engine would make a result of it."""


def confine(top: Path, path: str) -> None:
    """Refuse a path that is not below `top` once every symlink in it is followed."""
    place = Path(os.path.realpath(path))
    above = Path(os.path.realpath(Path(path).parent))
    if not (above == top or above.is_relative_to(top)) or not (place == top or place.is_relative_to(top)):
        raise Escaped(path)


def confined(top: Path) -> LocalMachine:
    """The real machine, each of whose writes is checked first."""

    class Confined(LocalMachine):
        def run(self, *args: Any, **kwargs: Any) -> Any:
            raise Escaped("a file state runs no commands")

    def checked(name: str) -> Callable[..., Any]:
        original = getattr(LocalMachine, name)

        def method(self: LocalMachine, *args: Any, **kwargs: Any) -> Any:
            confine(top, args[1] if name == "symlink" else args[0])
            return original(self, *args, **kwargs)

        return method

    for name in ("write", "mkdir", "chmod", "chown", "symlink", "remove"):
        setattr(Confined, name, checked(name))
    return Confined(sources_port=FILES)


paths = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
entries = st.one_of(
    st.tuples(st.just("file"), st.sampled_from([b"", b"1\n", b"x", b"\0"]), st.sampled_from(MODES)),
    st.tuples(st.just("directory"), st.just(b""), st.sampled_from(["0700", "0755"])),
    st.tuples(st.just("symlink"), st.sampled_from(SIBLINGS).map(str.encode), st.just("")),
)
trees = st.dictionaries(paths, entries, max_size=6)
mode = st.one_of(st.none(), st.sampled_from(MODES))
flags = st.booleans()
some_dir_mode = st.one_of(st.none(), st.sampled_from(["0700", "0755"]))


def arguments(**given: Any) -> Any:
    return st.fixed_dictionaries(given).map(lambda found: {k: v for k, v in found.items() if v is not None})


calls = st.one_of(
    st.tuples(
        st.just("managed"),
        arguments(
            source=st.sampled_from([None, "salt://one", "salt://nope"]),
            mode=mode,
            makedirs=flags,
            replace=flags,
            create=flags,
            follow_symlinks=flags,
            show_changes=flags,
        ),
    ),
    st.tuples(st.just("managed"), arguments(contents=st.sampled_from(["", "1", "x\ny", ["1"]]), mode=mode)),
    st.tuples(
        st.just("directory"),
        arguments(
            mode=some_dir_mode,
            file_mode=mode,
            makedirs=flags,
            clean=flags,
            force=flags,
            recurse=st.sampled_from([None, ["mode"]]),
            exclude_pat=st.sampled_from([None, "a", "*/b"]),
        ),
    ),
    st.tuples(
        st.just("recurse"),
        arguments(source=st.just("salt://src"), clean=flags, file_mode=mode, dir_mode=some_dir_mode, replace=flags),
    ),
    st.tuples(st.just("absent"), st.just({})),
    st.tuples(st.just("symlink"), arguments(target=st.sampled_from(SIBLINGS), force=flags, makedirs=flags)),
)


def build(top: Path, tree: Mapping[str, tuple[str, bytes, str]]) -> None:
    for name, (kind, data, mode) in sorted(tree.items()):
        path = top / name
        confine(top, str(path))
        try:
            if kind == "file":
                path.write_bytes(data)
            elif kind == "directory":
                path.mkdir()
            else:
                path.symlink_to(data.decode())
            if mode:
                path.chmod(int(mode, 8))
        except OSError:
            continue


def snapshot(top: Path) -> dict[str, Any]:
    seen: dict[str, Any] = {}
    for folder, folders, files in os.walk(top):
        for name in [*folders, *files]:
            path = Path(folder, name)
            info = path.lstat()
            what: Any = None
            if path.is_symlink():
                what = str(path.readlink())
            elif path.is_file():
                what = path.read_bytes()
            perms = None if path.is_symlink() else stat.S_IMODE(info.st_mode)
            seen[str(path)] = (stat.S_IFMT(info.st_mode), perms, what)
    return seen


def call(top: Path, fun: str, name: str, given: Mapping[str, Any], *, test: bool) -> StateResult:
    chunk = Chunk(state="file", fun=fun, id="x", name=str(top / name), sls="s", arguments=given)
    engine = StateEngine(confined(top), test=test)
    return run({"k": chunk}, engine, test=test, clock=lambda: 0.0)["k"]


@settings(max_examples=examples(200), deadline=None, database=None)
@given(tree=trees, name=paths, what=calls)
def test_predicted_is_done_and_done_twice_is_done_once(tree: Any, name: str, what: tuple[str, dict[str, Any]]) -> None:
    fun, given_ = what
    top = Path(os.path.realpath(tempfile.mkdtemp()))
    try:
        build(top, tree)
        before = snapshot(top)
        predicted = call(top, fun, name, given_, test=True)
        assert snapshot(top) == before
        result = call(top, fun, name, given_, test=False)
        after = snapshot(top)
        if predicted.result is None and result.result is True:
            assert predicted.changes == result.changes
            assert result.changes
        if predicted.result is True:
            assert (result.result, result.changes, result.comment) == (True, {}, predicted.comment)
        if predicted.result is False:
            assert (result.result, result.comment) == (False, predicted.comment)
        if result.result is True:
            assert bool(result.changes) == (after != before)
            again = call(top, fun, name, given_, test=False)
            assert (again.result, again.changes) == (True, {})
            assert snapshot(top) == after
    finally:
        shutil.rmtree(top)


def test_the_fence_of_these_tests_holds(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path)) / "top"
    top.mkdir()
    (top / "out").symlink_to("..")
    machine = confined(top)
    for path in (top / "out", top / "out/x", top.parent / "x"):
        for write in (
            machine.remove,
            lambda p: machine.write(p, b""),
            machine.mkdir,
            lambda p: machine.chmod(p, "0700"),
        ):
            with pytest.raises(Escaped):
                write(str(path))
    assert [path.name for path in top.parent.iterdir()] == ["top"]
