"""Pipelines of renderers: what Salt 3008.3 made of them (recorded_renderers.json), and where they are refused."""

import json
from pathlib import Path

import pytest

from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.ports import CompilePorts, DecryptFailed, RecordedFacts
from highstate.render.context import RenderContext, RenderFailed
from highstate.render.pipeline import render_sls
from highstate.types import Minion

RECORDED = json.loads((Path(__file__).parent / "recorded_renderers.json").read_text())


def rendered(template, *, sls="pkg.sub.one", files=None, **settings):
    path = sls.replace(".", "/") + ".sls"
    tree = {path: template, **(files or {})}
    trees = MemoryFiles({"base": {name: text.encode() for name, text in tree.items()}})
    minion = Minion(id="minion", grains={**RECORDED["grains"], "id": "minion"})
    settings.setdefault("pillar", RECORDED["pillar"])
    return render_sls(path, RenderContext(minion=minion, files=trees, **settings), sls=sls).data


def failure(template, **settings):
    with pytest.raises(RenderFailed) as caught:
        rendered(template, **settings)
    return caught.value.problem


@pytest.mark.parametrize("case", [pytest.param(case, id=case["sls"]) for case in RECORDED["cases"]])
def test_as_salt(case):
    if case.get("error"):
        failure(case["template"], sls=case["sls"])
    else:
        data = json.loads(json.dumps(rendered(case["template"], sls=case["sls"]), default=str))
        assert repr(data) == repr(case["data"])


def test_toml_with_dates_as_text():
    assert rendered("#!jinja|toml\na = {{ 1 }}\n[b]\nd = 1979-05-27\n") == {"a": 1, "b": {"d": "1979-05-27"}}
    problem = failure("#!toml\na = 1\nb = \n")
    assert (problem.pos.line, problem.message) == (3, "Invalid value")


def test_yamlex_takes_the_later_list_where_nothing_is_marked():
    assert rendered("#!yamlex\nb: [1]\nb: [2]\n") == {"b": [2]}
    assert "cannot be a key" in failure("#!yamlex\n? [1]\n: 2\n").message
    assert failure("#!yamlex\na: &a {x: 1}\nb: {<<: [*a], ? *a}\n").pos.line == 2


@pytest.mark.parametrize("text", ["a: 1\nb: 0_\n", "a: 1\nb: !!int x\n", "a: 1\nb: [2, !!float x]\n"])
def test_a_value_that_cannot_be_read_has_its_place(text):
    problem = failure(text)
    assert problem.pos.line == 2
    assert "cannot be read" in problem.message


class TestPython:
    RUN = """#!py
def run():
    return {'a': __grains__['id'], 'b': __salt__['pillar.get']('p:q'), 'c': [sls, __env__]}
"""

    def test_it_sees_what_templates_see(self):
        assert rendered(self.RUN) == {"a": "minion", "b": "v", "c": ["pkg.sub.one", "base"]}
        assert rendered("#!py\ndef run():\n    return isinstance(__pillar__['p'], dict) and {'a': pillar['p']}\n") == {
            "a": {"q": "v"}
        }

    def test_nothing_is_an_empty_sls(self):
        assert rendered("#!py\ndef run():\n    pass\n") == {}

    def test_errors_have_the_line_of_the_sls(self):
        problem = failure("#!py\ndef run():\n    x = 1\n    return x.y\n")
        assert (problem.pos.line, "has no attribute 'y'" in problem.message) == (4, True)
        assert failure("#!py\nx = (\n").message.startswith("Python syntax error")
        assert "defines a function run()" in failure("#!py\nx = 1\n").message
        assert "ended its process" in failure("#!py\nimport sys\ndef run():\n    sys.exit(3)\n").message

    def test_a_live_function_is_named(self):
        with pytest.raises(RenderFailed) as caught:
            rendered("#!py\ndef run():\n    return {'a': __salt__['cmd.run']('ls')}\n")
        assert (caught.value.live, caught.value.problem.pos.line) == ("cmd.run", 3)
        facts = CompilePorts(facts=RecordedFacts([{"fun": "cmd.run", "args": ["ls"], "ret": "x"}]))
        assert rendered("#!py\ndef run():\n    return {'a': __salt__['cmd.run']('ls')}\n", ports=facts) == {"a": "x"}

    def test_it_can_be_switched_off(self):
        for template in (self.RUN, "#!mako|yaml\na: 1\n"):
            problem = failure(template, opts={"allow_py_renderer": False})
            assert "switched off" in problem.message
            assert "allow_py_renderer" in problem.hint

    def test_what_it_gives_is_never_kept(self):
        tree = {"top.sls": "base:\n  '*': [one]\n", "one.sls": "#!py\ndef run():\n    return {'n': {'test.nop': []}}\n"}
        files = MemoryFiles({"base": {name: text.encode() for name, text in tree.items()}})
        memo = Memo()
        done = compile_minion(files, MemoryFiles({}), Minion(id="m"), CompileOptions(), memo)
        assert done.volatile == ("#!py",)
        kept = len(memo)
        assert compile_minion(files, MemoryFiles({}), Minion(id="m"), CompileOptions(), memo) == done
        assert len(memo) == kept
        assert not [key for key in memo._trees if "one.sls" in key]


class TestMako:
    def test_the_code_of_jinja_after_it_is_not_that_of_another_minion(self):
        tree = {"top.sls": "base: {'*': [one]}", "one.sls": "#!mako|jinja|yaml\nof-${grains['id']}: {test.nop: []}\n"}
        files, memo = MemoryFiles({"base": {name: text.encode() for name, text in tree.items()}}), Memo()
        for name in ("a", "b"):
            minion = Minion(id=name, grains={"id": name})
            done = compile_minion(files, MemoryFiles({}), minion, CompileOptions(), memo)
            assert [chunk.id for chunk in done.lowstate] == [f"of-{name}"]

    def test_it_sees_what_templates_see(self):
        files = {"pkg/sub/part.mako": "<%def name='f(x)'>v${x}</%def>"}
        template = """#!mako|yaml
<%namespace file="part.mako" import="f"/>
<%namespace name="whole" file="salt://pkg/sub/part.mako"/>
% for x in [1, 2]:
${f(x)}: ${salt['pillar.get']('p:q')}-${grains['id']}
% endfor
w: ${whole.f(3)}
"""
        assert rendered(template, files=files) == {"v1": "v-minion", "v2": "v-minion", "w": "v3"}

    @pytest.mark.parametrize(
        ("template", "says", "line"),
        [
            ("#!mako|yaml\na: ${nothing}\n", "nothing", 2),
            ("#!mako|yaml\na: 1\nb: ${grains['x']['y']}\n", "KeyError", 3),
            ("#!mako|yaml\n% for x in\n", "Mako:", 2),
            ("#!mako|yaml\n<%include file='gone.mako'/>\n", "no file salt://pkg/sub/gone.mako", 2),
            ("#!mako|yaml\na: ${salt['cmd.run']('ls')}\n", "asks the live machine", 2),
        ],
    )
    def test_errors_have_the_line(self, template, says, line):
        problem = failure(template)
        assert says in problem.message
        assert problem.pos.line == line


class Rot13:
    """A key that is no secret: the adapters with real ones are tested where they are."""

    def decrypt(self, ciphertext):
        import codecs

        body = ciphertext.split("\n")[1:-1]
        if not body:
            raise DecryptFailed("no key")
        return codecs.decode("\n".join(body), "rot13") + "\n"


def message(text):
    return f"-----BEGIN PGP MESSAGE-----\n{text}\n-----END PGP MESSAGE-----"


class TestGpg:
    PORTS = CompilePorts(decrypt=Rot13())

    def test_messages_inside_nested_values_are_read(self):
        data = json.dumps(
            {"a": {"b": [message("frperg"), 1]}, "c": f"x {message('n')} y", "d": message("p").replace("\n", "\\n")}
        )
        expected = {"a": {"b": ["secret", 1]}, "c": "x a\n y", "d": "c"}
        assert rendered(f"#!yaml|gpg\n{data}\n", ports=self.PORTS) == expected

    def test_text_before_yaml(self):
        assert rendered(f"#!gpg|yaml\n{message('n: 1')}\n", ports=self.PORTS) == {"a": 1}

    def test_without_a_key_it_is_an_error_and_not_the_ciphertext(self):
        text = json.dumps({"a": message("x")})
        assert "gpg_keydir" in failure(f"#!yaml|gpg\n{text}\n").message
        assert (
            "no key"
            in failure("#!yaml|gpg\n" + json.dumps({"a": message("").replace("\n\n", "\n")}), ports=self.PORTS).message
        )


def test_an_unknown_renderer_says_what_is_near():
    assert "did you mean 'jinja'" in failure("#!jinga|yaml\na: 1\n").hint
    assert "not allowed" in failure("#!jinja|json\n{}\n", opts={"renderer_blacklist": ["json"]}).message
    assert "not allowed" in failure("#!json\n{}\n", opts={"renderer_whitelist": ["jinja", "yaml"]}).message


def test_the_default_pipeline_is_an_option():
    assert rendered("a: '{{ 1 }}'\n", opts={"renderer": "yaml"}) == {"a": "{{ 1 }}"}


def test_stateconf_says_what_is_wrong():
    assert "no option -x" in failure("#!stateconf -x yaml . jinja\n.a: {cmd.run: []}\n").message
    assert "written as: yaml . jinja" in failure("#!stateconf yaml\n.a: {cmd.run: []}\n").message
    assert "did you mean 'jinja'" in failure("#!stateconf yaml . jinj\n.a: {cmd.run: []}\n").hint
    assert rendered("#!stateconf -G\n.a: {cmd.run: text}\n") == {"pkg.sub.one::a": {"cmd.run": "text"}}
    assert "leads out of the tree" in failure("#!stateconf\ninclude: ['....x']\n.a: {cmd.run: []}\n").message
