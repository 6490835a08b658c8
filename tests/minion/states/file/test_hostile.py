"""File states where somebody else had a hand: links, swaps, odd names, large files, file systems that refuse.

Everything is below the test's folder. Root is wanted where two owners are: what root does is the question there.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from effort import steps

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine

STRANGER = 65534
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="links of other users are a matter of root's")
GIGABYTE = 1 << 30


def chunk(fun: str, name: object, **arguments: Any) -> Chunk:
    state, _, bare = fun.partition(".")
    return Chunk(state=state, fun=bare, id="x", name=str(name), sls="s", arguments=arguments)


def engine(**files: bytes) -> StateEngine:
    return StateEngine(LocalMachine(sources_port=MemoryFiles({"base": files})), test=False)


def once(fun: str, name: object, **arguments: Any) -> StateResult:
    return run({"k": chunk(fun, name, **arguments)}, engine(), test=False, clock=lambda: 0.0)["k"]


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A folder of root's with a file, and one of a stranger's beside it."""
    (tmp_path / "root").mkdir()
    (tmp_path / "root/file").write_text("precious\n")
    (tmp_path / "theirs").mkdir()
    if os.geteuid() == 0:
        os.chown(tmp_path / "theirs", STRANGER, STRANGER)
    return tmp_path


def lay(link: Path, target: Path) -> None:
    link.symlink_to(target)
    os.chown(link, STRANGER, STRANGER, follow_symlinks=False)


CALLS = [
    ("file.managed", {"contents": "x"}),
    ("file.append", {"text": "x"}),
    ("file.replace", {"pattern": "precious", "repl": "x"}),
    ("file.serialize", {"dataset": {"a": 1}}),
    ("file.touch", {"mtime": 1}),
    ("file.managed", {"contents": "precious\n", "mode": "0666", "user": "nobody"}),
]


@as_root
@pytest.mark.parametrize(("fun", "arguments"), CALLS)
@pytest.mark.parametrize("place", ["the file", "its folder"])
def test_root_follows_no_stranger_out_of_his_folder(
    house: Path, fun: str, arguments: dict[str, Any], place: str
) -> None:
    before = (house / "root/file").stat()
    if place == "the file":
        lay(house / "theirs/file", house / "root/file")
        result = once(fun, house / "theirs/file", **arguments)
    else:
        lay(house / "theirs/way", house / "root")
        result = once(fun, house / "theirs/way/file", **arguments)
    after = (house / "root/file").stat()
    assert result.result is False
    assert "root does not follow it" in result.comment
    assert (after.st_ino, after.st_mtime_ns, after.st_mode, after.st_uid) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_mode,
        before.st_uid,
    )
    assert (house / "root/file").read_text() == "precious\n"
    assert sorted(one.name for one in (house / "root").iterdir()) == ["file"]


@as_root
def test_links_of_root_and_within_a_strangers_own_are_followed(house: Path) -> None:
    (house / "way").symlink_to(house / "root")
    assert once("file.managed", house / "way/file", contents="new").result is True
    assert (house / "root/file").read_text() == "new\n"
    (house / "theirs/real").mkdir()
    os.chown(house / "theirs/real", STRANGER, STRANGER)
    lay(house / "theirs/current", house / "theirs/real")
    assert once("file.managed", house / "theirs/current/file", contents="new").result is True
    assert (house / "theirs/real/file").read_text() == "new\n"


@as_root
@pytest.mark.parametrize(
    ("fun", "arguments"),
    [
        ("file.managed", {"contents": "x"}),
        ("file.managed", {"contents": "old\n", "mode": "0666"}),
        ("file.managed", {"contents": "old\n", "user": "nobody"}),
        ("file.absent", {}),
        ("file.symlink", {"target": "/nowhere", "force": True}),
        ("file.touch", {"mtime": 1}),
    ],
)
def test_a_folder_that_is_swapped_after_the_plan(house: Path, fun: str, arguments: dict[str, Any]) -> None:
    (house / "theirs/way").mkdir()
    (house / "theirs/way/file").write_text("old\n")
    machine = engine()
    one = chunk(fun, house / "theirs/way/file", **arguments)
    prepared = machine.plan(one, one.arguments, watched=False)
    assert prepared is not None
    assert prepared.predicted.result is None
    (house / "theirs/way").rename(house / "theirs/gone")
    lay(house / "theirs/way", house / "root")
    before = (house / "root/file").lstat()
    result = machine.act(prepared)
    assert result.result is False
    assert "root does not follow it" in result.comment
    after = (house / "root/file").lstat()
    assert (after.st_ino, after.st_mode, after.st_uid, after.st_mtime_ns) == (
        before.st_ino,
        before.st_mode,
        before.st_uid,
        before.st_mtime_ns,
    )


def test_a_file_that_becomes_a_link_after_the_plan_is_replaced_and_not_followed(house: Path) -> None:
    (house / "file").write_text("old\n")
    machine = engine()
    one = chunk("file.managed", house / "file", contents="new")
    prepared = machine.plan(one, one.arguments, watched=False)
    (house / "file").unlink()
    (house / "file").symlink_to(house / "root/file")
    assert prepared is not None
    assert machine.act(prepared).result is True
    assert (house / "root/file").read_text() == "precious\n"
    assert (house / "file").read_text() == "new\n"
    assert not (house / "file").is_symlink()


def test_pipes_and_devices_are_neither_read_nor_written(house: Path) -> None:
    os.mkfifo(house / "pipe")
    for fun, arguments in (("file.managed", {"contents": "x"}), ("file.append", {"text": "x"})):
        assert once(fun, house / "pipe", **arguments).result is False
    result = once("file.managed", house / "copy", source=str(house / "pipe"))
    assert (result.result, (house / "copy").exists()) == (False, False)


def test_names_that_are_no_text(house: Path) -> None:
    odd = os.fsdecode(b"a\xff")
    top = house / "odd"
    top.mkdir()
    (top / odd).write_text("x")
    assert once("file.directory", top, mode="0755", recurse=["mode"], file_mode="0600").result is True
    assert (top / odd).stat().st_mode & 0o777 == 0o600
    assert once("file.copy", house / "other", source=str(top)).result is True
    assert (house / "other" / odd).read_text() == "x"
    assert once("file.managed", top / odd, contents="new").result is True
    assert (top / odd).read_text() == "new\n"
    cleaned = once("file.directory", top, clean=True)
    assert cleaned.result is True
    assert cleaned.changes == {f"{top}/a\\xff": {"removed": "Removed due to clean"}}
    assert json.dumps(cleaned.changes, ensure_ascii=False).encode()
    assert list(top.iterdir()) == []


def test_a_long_name(house: Path) -> None:
    name = house / ("ü" * 127)
    assert once("file.managed", name, contents="x").result is True
    assert once("file.managed", name, contents="y").result is True
    assert "File name too long" in once("file.managed", house / ("x" * 300), contents="x").comment


OVER_A_GIGABYTE = [
    ("file.managed", {"contents": "small"}, True),
    ("file.managed", {"source": "{other}", "backup": "minion"}, True),
    ("file.copy", {"source": "{other}", "force": True}, True),
    ("file.absent", {}, True),
    ("file.append", {"text": "x"}, False),
    ("file.replace", {"pattern": "a", "repl": "b"}, False),
]


@pytest.mark.parametrize(("fun", "arguments", "result"), steps(OVER_A_GIGABYTE, 3))
def test_a_gigabyte_is_never_held(house: Path, fun: str, arguments: dict[str, Any], result: bool) -> None:
    for name in ("file", "other"):
        with (house / name).open("wb") as file:
            file.truncate(GIGABYTE)
    with (house / "other").open("r+b") as file:
        file.seek(GIGABYTE // 2)
        file.write(b"x")
    given = {key: value.format(other=house / "other") for key, value in arguments.items() if isinstance(value, str)}
    code = (
        "import resource, sys, test_hostile as t; resource.setrlimit(resource.RLIMIT_AS, (1 << 29,) * 2);"
        f"r = t.once({fun!r}, {str(house / 'file')!r}, **{ ({**arguments, **given})!r}); print(r.comment);"
        f"sys.exit(r.result is not {result!r})"
    )
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    if "source" in arguments:
        assert (house / "file").stat().st_size == GIGABYTE
        with (house / "file").open("rb") as file:
            file.seek(GIGABYTE // 2)
            assert file.read(2) == b"x\0"
        assert (house / "file").stat().st_blocks < 100_000


@pytest.fixture
def small(house: Path) -> Iterator[Path]:
    """A file system of 64 KiB with a file in it."""
    place = house / "small"
    place.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "none", str(place)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("needs a mount, which is root's")
    (place / "file").write_text("old\n")
    yield place
    subprocess.run(["umount", str(place)], check=True)


@as_root
@pytest.mark.parametrize(
    ("fun", "arguments"),
    [
        ("file.managed", {"contents": "x" * 200_000}),
        ("file.append", {"text": "x" * 200_000}),
        ("file.serialize", {"dataset": {"a": "x" * 200_000}}),
        ("file.prepend", {"text": "x" * 200_000}),
    ],
)
def test_a_full_file_system(small: Path, fun: str, arguments: dict[str, Any]) -> None:
    result = once(fun, small / "file", **arguments)
    assert result.result is False
    assert result.comment == f"No space left on device: {small / 'file'}"
    assert {one.name: one.read_text() for one in small.iterdir()} == {"file": "old\n"}


@as_root
@pytest.mark.parametrize(
    ("fun", "name", "arguments"),
    [
        ("file.managed", "file", {"contents": "x"}),
        ("file.managed", "file", {"contents": "old\n", "mode": "0600"}),
        ("file.absent", "file", {}),
        ("file.directory", "new", {}),
        ("file.symlink", "new", {"target": "x"}),
        ("file.touch", "new", {}),
        ("file.rename", "new", {"source": "{small}/file"}),
    ],
)
def test_a_read_only_file_system(small: Path, fun: str, name: str, arguments: dict[str, Any]) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small)], check=True)
    given = {key: value.replace("{small}", str(small)) for key, value in arguments.items()}
    result = once(fun, small / name, **given)
    assert result.result is False
    assert result.comment == f"Read-only file system: {small / name}"
    assert {one.name: one.read_text() for one in small.iterdir()} == {"file": "old\n"}
