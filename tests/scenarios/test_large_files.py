"""Files of the tree on their way to a minion: large ones, cut off by kills of either end, and odd names."""

import hashlib
import os
import shutil
import tempfile
import time
from pathlib import Path

import pytest
from effort import steps
from rig import Rig

TREE = Path(__file__).parent / "tree"
SIZE = 16 * 1024 * 1024
LARGE = """
large:
  file.managed:
    - name: {{ grains['root'] }}/large.bin
    - source: salt://files/large.bin
    - makedirs: True
odd:
  file.managed:
    - name: {{ grains['root'] }}/odd
    - source: "salt://|files/odd?x=dev|name \u00fc.conf"
    - makedirs: True
other-env:
  file.managed:
    - name: {{ grains['root'] }}/env
    - source: salt://only-dev.conf?saltenv=dev
    - makedirs: True
all:
  file.recurse:
    - name: {{ grains['root'] }}/all
    - source: salt://files/folder
    - makedirs: True
"""
ODD = {
    "odd?x=dev|name \u00fc.conf": b"odd",
    "folder/a b\tc": b"\x00\xff\n",
    "folder/sub/-x": b"",
    "folder/*": b"*",
}


@pytest.fixture
def rig():
    folder = Path(tempfile.mkdtemp(prefix="saltern-"))
    tree = folder / "tree"
    shutil.copytree(TREE, tree)
    (tree / "states/large.sls").write_text(LARGE)
    (tree / "states/top.sls").write_text("base:\n  '*':\n    - large\n")
    with Rig(folder, {"web1": {}}, tree, forked=True) as rig:
        rig.up()
        yield rig
    shutil.rmtree(folder, ignore_errors=True)


def write(rig, content):
    for name, data in {**ODD, "large.bin": content}.items():
        path = rig.work / "states/files" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


KILLS = [("controller", 0.2), ("web1", 0.3), ("controller", 0.6), ("web1", 0.9)]
"""Whom, and seconds after the push."""


@pytest.mark.timeout(400)
def test_kills_while_a_large_file_is_on_its_way(rig):
    (rig.work / "states/only-dev.conf").write_text("of dev")
    write(rig, b"small")
    rig.git("checkout", "-q", "-b", "dev")
    rig.push("dev", branch="dev")
    (rig.work / "states/only-dev.conf").unlink()
    commit = rig.push("main")
    rig.wait_applied(commit)
    root = rig.root("web1")
    assert (root / "odd").read_bytes() == b"odd"
    assert (root / "env").read_bytes() == b"of dev"
    assert {
        path.relative_to(root / "all").as_posix(): path.read_bytes()
        for path in (root / "all").rglob("*")
        if path.is_file()
    } == {name.removeprefix("folder/"): data for name, data in ODD.items() if name.startswith("folder/")}
    for number, (victim, delay) in enumerate(steps(KILLS, 2)):
        content = os.urandom(SIZE)
        write(rig, content)
        commit = rig.push(f"large {number}")
        time.sleep(delay)  # another moment each time; any of them is right
        rig.kill(victim, children=True)
        rig.start_controller() if victim == "controller" else rig.start_minion("web1")
        rig.wait_applied(commit)
        assert hashlib.sha256((root / "large.bin").read_bytes()).digest() == hashlib.sha256(content).digest()
    left = [path for path in root.rglob("*") if path.name.startswith(".") or path.suffix in (".new", ".tmp", ".part")]
    assert not left
