"""What is on disk after a crash: the order of system calls by which a file is replaced, as strace saw them.

The data is on disk before the name is another's, and the name before the state says that it is done.
"""

import json
import re
import shutil
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")

_RUN = """
import json, sys
from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.machine.machine import LocalMachine
from minion.engine.registry import find
state, name, arguments = json.loads(sys.argv[1])
module, _, fun = state.partition(".")
machine = LocalMachine(sources_port=MemoryFiles({"base": {"t/a": b"1", "t/b": b"2"}}))
chunk = Chunk(state=module, fun=fun, id="x", name=name, sls="s", arguments=arguments)
result = run({"k": chunk}, StateEngine(machine), test=False, clock=lambda: 0.0)["k"]
assert result.result, result.comment
"""
_CALL = re.compile(r"(\w+)\((.*)\)\s+= (-?\d+)(?:<(.*?)>)?")


def _calls(folder, state, name, **arguments):
    """(call, the rest of its line) in their order, of calls that name something below `folder`."""
    log = folder.parent / "log"
    watched = "openat,write,copy_file_range,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat"
    command = ["strace", "-f", "-y", "-o", str(log), "-e", f"trace={watched}", sys.executable, "-c", _RUN]
    done = subprocess.run([*command, json.dumps([state, name, arguments])], capture_output=True, text=True, check=False)
    if "ptrace" in done.stderr or "Operation not permitted" in done.stderr:
        pytest.skip("this system does not let strace trace")
    assert done.returncode == 0, done.stderr
    found = (_CALL.search(line) for line in log.read_text().splitlines())
    return [(one[1], one[2]) for one in found if one and str(folder) in one[0]]


def _replacements(calls, folder):
    """For each name that was put in place: what was done to its data before, and to its folder after."""
    for at, (call, what) in enumerate(calls):
        if not call.startswith("rename"):
            continue
        temporary = re.search(r'"([^"]+)"', what)[1]
        before = [name for name, said in calls[:at] if temporary in said]
        after = [name for name, said in calls[at + 1 :] if said.endswith(f"<{folder}>")]
        yield before, after


@pytest.fixture
def folder(tmp_path):
    place = tmp_path / "place"
    place.mkdir()
    return place


@pytest.mark.parametrize(
    ("state", "arguments", "there"),
    [
        ("file.managed", {"contents": "new"}, True),
        ("file.managed", {"contents": "new"}, False),
        ("file.append", {"text": "more"}, True),
        ("file.replace", {"pattern": "old", "repl": "new"}, True),
        ("file.serialize", {"dataset": {"a": 1}, "serializer": "json"}, False),
        ("file.line", {"mode": "insert", "location": "end", "content": "x"}, True),
    ],
)
def test_data_is_on_disk_before_its_name_and_the_name_before_the_end(folder, state, arguments, there):
    file = folder / "f"
    if there:
        file.write_text("old\n")
    replaced = list(_replacements(_calls(folder, state, str(file), **arguments), folder))
    assert replaced  # file.replace keeps the old one under another name first
    for before, after in replaced:
        assert before[-1] == "fsync", before
        assert "write" in before
        assert "fsync" in after, after


def test_every_file_of_a_tree_is_on_disk_before_its_name(folder):
    calls = _calls(folder, "file.recurse", str(folder / "d"), source="salt://t")
    replaced = list(_replacements(calls, folder / "d"))
    assert len(replaced) == 2
    assert all(before[-1] == "fsync" and "fsync" in after for before, after in replaced)


def test_a_large_copy_is_on_disk_before_its_name(folder, tmp_path):
    source = tmp_path / "large"
    source.write_bytes(b"x" * (9 << 20))
    [(before, after)] = _replacements(_calls(folder, "file.managed", str(folder / "f"), source=str(source)), folder)
    assert before[-1] == "fsync"
    assert "fsync" in after


def test_a_symlink_is_never_away(folder):
    (folder / "f").symlink_to("old")
    calls = _calls(folder, "file.symlink", str(folder / "f"), target=str(folder))
    assert [call for call, what in calls if call.startswith("unlink") and '"f"' in what] == []
    [(_, after)] = _replacements(calls, folder)
    assert "fsync" in after
