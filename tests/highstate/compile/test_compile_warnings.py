"""What a compile goes on with, and tells all the same."""

from highstate.compile import CompileOptions, compile_sls
from highstate.files import MemoryFiles
from highstate.types import Minion


def _compiled(text):
    files = MemoryFiles({"base": {"a.sls": text.encode()}})
    return compile_sls(files, MemoryFiles({}), Minion(id="m"), CompileOptions(), ["a"])


def test_a_second_require_replaces_the_first_and_is_told():
    done = _compiled(
        "x:\n  test.nop:\n    - require: [{test: y}]\n    - require: [{test: z}]\n"
        "y:\n  test.nop: []\nz:\n  test.nop: []\n"
    )
    assert done.ok
    [chunk] = [chunk for chunk in done.lowstate if chunk.id == "x"]
    assert chunk.arguments["require"] == [{"test": "z"}]
    [warning] = done.warnings
    assert "test.nop of ID 'x' has `require` more than once" in warning.message
    assert (warning.pos.file, warning.pos.line) == ("a.sls", 3)


def test_every_in_requisite_counts_so_nothing_is_told():
    done = _compiled(
        "x:\n  test.nop:\n    - require_in: [{test: y}]\n    - require_in: [{test: z}]\n"
        "y:\n  test.nop: []\nz:\n  test.nop: []\n"
    )
    assert done.ok
    assert not done.warnings
