"""Compile errors hold the phrases that Salt's own tests look for, so that what searches for them finds them here, too.

Source: tests/pytests/functional/modules/state (test_state.py, test_jinja_filters.py, requisites/) and
tests/pytests/unit/state/test_state_compiler.py of Salt 3008.
"""

import pytest

from highstate.compile import CompileOptions, compile_sls
from highstate.files import MemoryFiles
from highstate.types import Minion

RUN = "A:\n  cmd.run:\n    - name: echo A\n"

CASES = {
    "require of a state that is not there": (
        "G:\n  cmd.run:\n    - name: echo G\n    - require: [{cmd: Z}]\n",
        "Referenced state does not exist for requisite [require: (cmd: Z)] in state [echo G] in SLS [a]",
    ),
    "require of an ID that is not there": (
        "G:\n  cmd.run:\n    - name: echo G\n    - require: [Z]\n",
        "Referenced state does not exist for requisite [require: (id: Z)] in state [echo G] in SLS [a]",
    ),
    "require of another state of an ID": (
        RUN + "F:\n  cmd.run:\n    - name: echo F\n    - require: [{foobar: A}]\n",
        "Referenced state does not exist for requisite [require: (foobar: A)] in state [echo F] in SLS [a]",
    ),
    "prereq of a state that is not there": (
        "I:\n  cmd.run:\n    - name: echo I\n    - prereq: [{cmd: Z}]\n",
        "Referenced state does not exist for requisite [prereq: (cmd: Z)] in state [echo I] in SLS [a]",
    ),
    "prereq of another state of an ID": (
        RUN + "B:\n  cmd.run:\n    - name: echo B\n    - prereq: [{foobar: A}]\n",
        "Referenced state does not exist for requisite [prereq: (foobar: A)] in state [echo B] in SLS [a]",
    ),
    "prereq of a state module and an ID that are not there": (
        RUN + "B:\n  cmd.run:\n    - name: echo B\n    - prereq: [{foobar: C}]\n",
        "Referenced state does not exist for requisite [prereq: (foobar: C)] in state [echo B] in SLS [a]",
    ),
    "require_in of an ID that is not there": (
        "A:\n  cmd.run:\n    - name: echo A\n    - require_in: [{foobar: W}]\n",
        "Cannot extend ID 'W' in 'base:a'. It is not part of the high state.",
    ),
    "require_in of another state of an ID": (
        RUN + "B:\n  cmd.run:\n    - name: echo B\n    - require_in: [{foobar: A}]\n",
        "Cannot extend ID 'A' in 'base:a'. It is not part of the high state.",
    ),
    "require as a mapping": (
        RUN + "B:\n  cmd.run:\n    - name: echo B\n    - require: {cmd: A}\n",
        "The require statement in state 'B' in SLS 'a' needs to be formed as a list",
    ),
    "prereq as a mapping": (
        RUN + "B:\n  cmd.run:\n    - name: echo B\n    - prereq: {cmd: A}\n",
        "The prereq statement in state 'B' in SLS 'a' needs to be formed as a list",
    ),
    "require in a circle": (
        "A:\n  cmd.run: [{name: echo A}, {require: [{cmd: B}]}]\n"
        "B:\n  cmd.run: [{name: echo B}, {require: [{cmd: A}]}]\n",
        "Recursive requisites were found: ",
    ),
    "prereq in a circle": (
        "A:\n  cmd.run: [{name: echo A}, {prereq: [{cmd: B}]}]\n"
        "B:\n  cmd.run: [{name: echo B}, {prereq: [{cmd: A}]}]\n",
        "Recursive requisites were found: ",
    ),
    "prereq_in in a circle": (
        "A:\n  cmd.run: [{name: echo A}, {prereq_in: [{cmd: B}]}]\n"
        "B:\n  cmd.run: [{name: echo B}, {prereq_in: [{cmd: A}]}]\n",
        "Recursive requisites were found: ",
    ),
    "require_in beside prereq": (
        "A:\n  cmd.run: [{name: echo A}, {require_in: [{cmd: B}]}]\n"
        "B:\n  cmd.run: [{name: echo B}, {prereq: [{cmd: A}]}]\n",
        "Recursive requisites were found: ",
    ),
    "a requisite whose value is a mapping": (
        "git:\n  pkg.installed:\n    - require:\n      - file: {test1: test}\n",
        "Illegal requisite ",
    ),
    "a requisite whose value is no string": (
        "git:\n  pkg.installed:\n    - require:\n      - file: 5\n",
        "Requisite [require: file] in state [git] in SLS [a] must have a string as the value",
    ),
    "a requisite with two keys": (
        RUN + "B:\n  cmd.run:\n    - name: echo B\n    - require: [{cmd: A, pkg: b}]\n",
        "is not formed as a single key dictionary",
    ),
    "arguments without dashes": (
        "A:\n  cmd.run:\n    -name: echo foo\n    -foo:\n      - bar\n",
        "State 'A' in SLS 'a' is not formed as a list",
    ),
    "a state below a path": (
        "C:\n  /foo/bar/foobar:\n    file.exist\n",
        "State 'C' in SLS 'a' is not formed as a list",
    ),
    "the same state twice": (
        "/x:\n  file:\n    - managed\n  file.append:\n    - text: foo\n",
        "ID '/x' in SLS 'a' contains multiple state declarations of the same type",
    ),
    "two functions": (
        "/some/file:\n  file.managed:\n    - source:salt://bla\n",
        "Too many functions declared in state '/some/file' in SLS 'a'. Please choose one of the following: "
        "source:salt://bla, managed",
    ),
    "an ID that is a number": (
        "1234:\n  test.nop: []\n",
        "ID '1234' in SLS 'a' is not formed as a string, but is type int",
    ),
    "an include that is not there": ("include: [gone]\n", "Specified SLS gone in saltenv base is not available"),
    "YAML that cannot be read": ("A: [\n", "Rendering SLS 'base:a' failed: "),
    "a Jinja syntax error": ("{% if %}\n", "Rendering SLS 'base:a' failed: Jinja syntax error: Expected an expression"),
    "an undefined variable": ("{{ nix.x }}\n", "Rendering SLS 'base:a' failed: "),
    "raise in a template": ("{{ raise('Custom Error') }}\n", "TemplateError"),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_an_error_holds_salts_phrase(case):
    text, phrase = CASES[case]
    files = MemoryFiles({"base": {"a.sls": text.encode()}})
    done = compile_sls(files, MemoryFiles({}), Minion(id="m"), CompileOptions(), ["a"])
    assert any(phrase in problem.message for problem in done.errors), [problem.message for problem in done.errors]


@pytest.mark.parametrize("name", ["gone", "go*"])
def test_an_sls_that_is_not_there_has_salts_phrase(name):
    done = compile_sls(MemoryFiles({"base": {}}), MemoryFiles({}), Minion(id="m"), CompileOptions(), [name])
    assert done.errors[0].message.startswith(f"No matching sls found for '{name}' in env 'base'")
