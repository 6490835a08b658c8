"""Functions of the live machine answered from recorded facts: replayed, named, and rendered again when they change."""

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.ports import CompilePorts, RecordedFacts
from highstate.types import Minion

TOP = "base:\n  '*':\n    - one\n"


def compiled(sls, answers, memo=None, pillar=None):
    trees = {"base": {"top.sls": TOP.encode(), "one.sls": sls.encode()}}
    pillar_tree = {"base": {path: text.encode() for path, text in (pillar or {}).items()}}
    ports = CompilePorts(facts=RecordedFacts(answers))
    minion = Minion(id="web1", grains={"id": "web1"})
    return compile_minion(MemoryFiles(trees), MemoryFiles(pillar_tree), minion, CompileOptions(), memo, ports)


VERSION = "v{{ salt['pkg.version']('nginx', repo='main') }}:\n  test.nop: []\n"


def answer(ret, fun="pkg.version", args=("nginx",), **kwargs):
    return {"fun": fun, "args": list(args), "kwargs": kwargs, "ret": ret}


def test_a_recorded_answer_is_given_and_named():
    done = compiled(VERSION, [answer("1.2", repo="main")])
    assert [chunk.id for chunk in done.lowstate] == ["v1.2"]
    assert done.volatile == ("pkg.version",)


def test_a_call_without_an_answer_is_an_error_with_its_line():
    done = compiled("one:\n  test.nop: []\n" + VERSION, [answer("1.2")])
    [problem] = done.errors
    assert "salt['pkg.version'] asks the live machine" in problem.message
    assert problem.pos.template_line == 3


def test_a_changed_answer_renders_again_and_an_equal_one_does_not():
    memo = Memo()
    first = compiled(VERSION, [answer("1.2", repo="main")], memo)
    misses = memo.misses
    again = compiled(VERSION, [answer("1.2", repo="main")], memo)
    assert (again, memo.misses) == (first, misses)
    assert [chunk.id for chunk in compiled(VERSION, [answer("1.3", repo="main")], memo).lowstate] == ["v1.3"]
    assert compiled(VERSION, [], memo).errors
    assert memo.conflicts == 0


def test_answers_of_the_pillar_are_named_too():
    pillar = {"top.sls": TOP, "one.sls": "up: {{ salt.mine.get('*', 'ips') | json }}\n"}
    done = compiled(
        "{{ pillar.up.web1 }}: {test.nop: []}\n", [answer({"web1": "a"}, "mine.get", ["*", "ips"])], None, pillar
    )
    assert [chunk.id for chunk in done.lowstate] == ["a"]
    assert done.volatile == ("mine.get",)


@pytest.mark.parametrize(("listed", "expected"), [(["pkg.version"], "yes"), ([], "no")])
def test_whether_there_is_a_function_is_a_question_too(listed, expected):
    sls = "is {{ 'yes' if 'pkg.version' in salt else 'no' }}: {test.nop: []}\n"
    done = compiled(sls, [answer(listed, "sys.list_functions", ["pkg.version"])])
    assert [chunk.id for chunk in done.lowstate] == [f"is {expected}"]


def test_an_answer_belongs_to_one_render():
    sls = """
{% set one = salt['pkg.list_repos']() %}{% do one.update({'b': 1}) %}
n{{ salt['pkg.list_repos']() | length }}{{ one | length }}: {test.nop: []}
"""
    done = compiled(sls, [answer({"a": 1}, "pkg.list_repos", ())])
    assert [chunk.id for chunk in done.lowstate] == ["n12"]
