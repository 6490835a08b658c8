"""External tops: a real program beside a top file, and what it may do wrong."""

import pytest

from controller.compilation.compile_ports import ports_of
from controller.config.sections import PortOptions
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.types import Minion

FILES = {"top.sls": "base: {'*': [a]}\nqa: {'nobody': [a]}", "a.sls": "a: test.nop", "b.sls": "b: test.nop"}


def compiled(command, *, name="ext_nodes", **settings):
    trees = {"base": FILES, "qa": {"q.sls": "q: test.nop"}}
    files = MemoryFiles({env: {path: text.encode() for path, text in tree.items()} for env, tree in trees.items()})
    return compile_minion(
        files,
        MemoryFiles({}),
        Minion(id="web1"),
        CompileOptions(master_tops={name: command}, **settings),
        ports=ports_of(PortOptions()),
    )


@pytest.fixture
def program(tmp_path):
    """A program that writes this text."""

    def make(text):
        path = tmp_path / "classify"
        path.write_text(f"#!/bin/sh\ncat <<END\n{text}\nEND\n")
        path.chmod(0o755)
        return str(path)

    return make


@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("classes: [b, a]", {}, {"base": ("a", "b")}),
        ("classes: [b, a]", {"master_tops_first": True}, {"base": ("b", "a")}),
        ("classes: {b: {x: 1}}", {}, {"base": ("a", "b")}),
        ("{classes: [q], environment: qa}", {}, {"base": ("a",), "qa": ("q",)}),
        ("parameters: {x: 1}", {}, {"base": ("a",)}),
        ("", {}, {"base": ("a",)}),
    ],
)
def test_classes_join_the_top_files(program, text, settings, expected):
    done = compiled(program(text), **settings)
    assert done.errors == ()
    assert dict(done.matches) == expected
    assert done.volatile == ("master_tops.ext_nodes",)


def test_the_program_is_told_the_minion(tmp_path):
    path = tmp_path / "classify"
    path.write_text('#!/bin/sh\necho "classes: [$1]" | tr x b | sed s/web1/b/\n')
    path.chmod(0o755)
    assert dict(compiled(f"{path}").matches) == {"base": ("a", "b")}
    assert dict(compiled(f"{path} x").matches) == {"base": ("a", "b")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("classes: b", "neither a list nor a mapping"),
        ("classes: [1]", "no list of SLS names"),
        ("[b]", "not a mapping"),
        ("a: [", "cannot be read"),
        ("classes: [gone]", "No matching sls found for 'gone'"),
    ],
)
def test_what_it_may_say_wrong(program, text, says):
    done = compiled(program(text))
    assert [says in problem.message for problem in done.errors] == [True]


def test_a_program_that_fails_or_is_not_there():
    assert "ended with 1" in compiled("false").errors[0].message
    assert "cannot be started" in compiled("/nowhere/at/all").errors[0].message
    assert "takes a command" in compiled({}).errors[0].message
    [problem] = compiled("x", name="ext_node").errors
    assert (problem.hint, problem.pos.file) == ("did you mean 'ext_nodes'?", "master_tops")
