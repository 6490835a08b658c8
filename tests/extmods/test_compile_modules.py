"""Python of a tree that its compile runs: renderers, external pillars, tops and runners, as Salt calls them."""

from dataclasses import replace

import pytest

from extmods.compile_modules import CompileModules, Tree
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.memo.memo import Memo
from highstate.ports import NO_PORTS, Fact
from highstate.types import Minion
from minion.config.language import compile_options
from minion.execution.lowstate_sources import RootsCompiler

WEB = Minion(id="web1", grains={"id": "web1", "role": "web"})
DB = Minion(id="db1", grains={"id": "db1", "role": "db"})

RENDERER = """
def render(data, saltenv="base", sls="", argline="", **kwargs):
    kind = type(data).__name__
    text = data.read() if hasattr(data, "read") else data
    told = {
        "kind": kind, "data": text, "saltenv": saltenv, "sls": sls, "argline": argline, "file": kwargs["tmplpath"],
        "id": __grains__["id"], "color": __pillar__["color"], "opt": __opts__["id"], "echo": __salt__["test.echo"]("x"),
        "own": __utils__["tool.double"](21), "seen": __context__.setdefault("seen", 0),
    }
    __context__["seen"] += 1
    return {sls: {"test.nop": [{"told": told}]}}
"""
UPPER = """
import io

def render(data, saltenv="base", sls="", argline="", **kwargs):
    text = data if isinstance(data, str) else data.read()
    return io.StringIO(text.replace("SHOUT", argline or "none"))
"""
THROUGH = """
def render(data, saltenv, sls, renderers=None, **kwargs):
    text = renderers["jinja"](data, saltenv, sls, context={"word": "given"})
    return {"through": {"test.nop": [renderers["yaml"](text, saltenv, sls)]}}
"""
PILLAR = """
def ext_pillar(minion_id, pillar, *args, **kwargs):
    return {"got": [minion_id, pillar.get("color"), list(args), kwargs, __opts__["id"], __grains__["role"]]}
"""
TOPS = """
def top(**kwargs):
    return {"base": [__opts__["master_tops"]["roles"] + kwargs["grains"]["role"]]}
"""
RUNNER = """
def who(first, second="b"):
    return [first, second, __opts__["id"]]

def stuck():
    raise KeyError("nothing")
"""
STATES = {
    "_renderers/probe.py": RENDERER,
    "_renderers/upper.py": UPPER,
    "_renderers/through.py": THROUGH,
    "_renderers/broken.py": "import does_not_exist\n",
    "_renderers/none.py": "def __virtual__():\n    return False, 'not on this machine'\n",
    "_renderers/file.py": "__virtualname__ = 'renamed'\n\ndef render(*a, **k):\n    return {'r': {'test.nop': []}}\n",
    "_renderers/raises.py": "def render(data, *a, **k):\n    return [][1]\n",
    "_renderers/strange.py": "def render(data, *a, **k):\n    return object()\n",
    "_renderers/ends.py": "def render(data, *a, **k):\n    raise SystemExit(3)\n",
    "_renderers/asks.py": "def render(data, *a, **k):\n    return __salt__['cmd.run']('id')\n",
    "_renderers/yaml.py": "def render(data, *a, **k):\n    raise RuntimeError('not asked')\n",
    "_pillar/inventory.py": PILLAR,
    "_pillar/broken.py": "def ext_pillar(minion_id, pillar):\n    return 1 / 0\n",
    "_pillar/cmd_yaml.py": "raise RuntimeError('a built-in one is asked')\n",
    "_tops/roles.py": TOPS,
    "_runners/select.py": RUNNER,
    "_utils/tool.py": "def double(number):\n    return 2 * number\n",
    "top.sls": "base:\n  '*': [app]\n",
    "app.sls": "a: {test.nop: []}\n",
    "role-web.sls": "role: {test.nop: []}\n",
}
PILLARS = {"top.sls": "base:\n  '*': [p]\n", "p.sls": "color: red\n"}


def files(*trees, saltenv="base"):
    merged = {path: text.encode() for tree in trees for path, text in tree.items()}
    return MemoryFiles({saltenv: merged})


def compiled(*changed, minion=WEB, pillar=None, memo=None, ports=NO_PORTS, **options):
    tree = files(STATES, *changed)
    settings = CompileOptions(**options)
    made = CompileModules(tree=Tree(tree), minion=minion, opts=settings.opts).over(ports)
    return compile_minion(tree, files(PILLARS, pillar or {}), minion, settings, memo, made)


def names(done):
    assert done.ok, done.errors
    return [chunk.name for chunk in done.lowstate]


def told(text, **given):
    [chunk] = compiled({"app.sls": text}, **given).lowstate
    return chunk.arguments["told"]


def test_a_renderer_has_salts_arguments_and_dunders():
    assert told("#!jinja|probe some arg\n{{ grains.role }}") == {
        "kind": "StringIO", "data": "#!jinja|probe some arg\nweb", "saltenv": "base", "sls": "app", "own": 42,
        "argline": "some arg", "file": "app.sls", "id": "web1", "color": "red", "opt": "web1", "echo": "x", "seen": 0,
    }  # fmt: skip
    assert told("#!yaml|probe\na: 1")["data"] == {"a": 1}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("#!upper WORD|yaml\nSHOUT: {test.nop: []}", "WORD"),
        ("#!jinja|upper|yaml\nSHOUT: {test.nop: []}", "none"),
        ("#!renamed\nx", "r"),
        ("#!through\nname: {{ word }}\n", "given"),
        ("#!jinja|yaml\nbuilt-in: {test.nop: []}", "built-in"),
    ],
)
def test_renderers_stand_in_pipelines(text, name):
    assert names(compiled({"app.sls": text})) == [name]


def test_a_renderer_may_be_the_default_and_serve_pillar_and_text():
    shout = {"app.sls": "SHOUT: {test.nop: []}"}
    assert names(compiled(shout, opts={"renderer": "upper WORD|yaml"})) == ["WORD"]
    string = "a: {test.nop: [{name: {{ salt['slsutil.renderer'](string='#!upper IN|yaml\nSHOUT') }}}]}"
    assert names(compiled({"app.sls": string})) == ["IN"]
    pillar = {"p.sls": "#!upper blue|yaml\ncolor: SHOUT"}
    assert compiled(pillar=pillar).pillar == {"color": "blue"}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("broken", "No module named 'does_not_exist' (_renderers/broken.py, line 1)"),
        ("none", "not on this machine"),
        ("raises", "IndexError: list index out of range (_renderers/raises.py, line 2)"),
        ("strange", "no plain data"),
        ("ends", "SystemExit: 3"),
        ("asks", "salt['cmd.run'] asks the live machine"),
        ("file", "the renderer 'file' is not known"),
    ],
)
def test_what_is_wrong_with_a_renderer_is_told_at_the_first_line_and_hides_no_other(name, why):
    [problem] = compiled({"app.sls": f"#!{name}\nx\n"}).errors
    assert why in problem.message
    assert (problem.pos.file, problem.pos.line) == ("app.sls", 1)


def test_virtual_is_asked_for_each_minion():
    virtual = "def __virtual__():\n    return __grains__['role'] == 'web', 'only for web'\n"
    some = {"_renderers/some.py": virtual + "def render(*a, **k):\n    return {'some': {'test.nop': []}}\n"}
    text = {"app.sls": "#!some\nx"}
    assert names(compiled(text, some)) == ["some"]
    [problem] = compiled(text, some, minion=DB).errors
    assert problem.message == "Rendering SLS 'base:app' failed: the renderer some: only for web"


def test_what_may_be_run_is_an_option():
    text = {"app.sls": "#!upper\nx"}
    for options, why in (
        ({"allow_py_renderer": False}, "allow_py_renderer"),
        ({"renderer_whitelist": ["jinja", "yaml"]}, "renderer_whitelist"),
        ({"renderer_blacklist": ["upper"]}, "renderer_blacklist"),
    ):
        [problem] = compiled(text, opts=options).errors
        assert why in problem.hint


def test_one_of_the_saltenv_wins_over_that_of_base():
    tree = MemoryFiles(
        {
            "base": {**{path: text.encode() for path, text in STATES.items()}, "top.sls": b"dev: {'*': [app]}"},
            "dev": {
                "_renderers/upper.py": UPPER.replace('"none"', '"dev"').encode(),
                "app.sls": b"#!upper|yaml\nSHOUT: {test.nop: []}\n",
            },
        }
    )
    ports = CompileModules(tree=Tree(tree), minion=WEB, opts={}).over(NO_PORTS)
    assert names(compile_minion(tree, MemoryFiles({}), WEB, CompileOptions(), None, ports)) == ["dev"]


def test_an_sls_in_python_may_import_what_modules_may():
    source = """#!py
import salt.utils.yaml
from salt.exceptions import SaltRenderError
from salt.utils.odict import OrderedDict
from salt.utils.yaml import safe_load

def run():
    assert issubclass(SaltRenderError, Exception)
    return OrderedDict([(salt['grains.get']('id') + safe_load('[x]')[0], {'test.nop': []})])
"""
    assert names(compiled({"app.sls": source})) == [f"{WEB.id}x"]


def test_a_memo_knows_nothing_of_what_a_renderer_read():
    memo = Memo()
    text = {"app.sls": "#!probe\nx"}
    for minion in (WEB, DB, WEB):
        [chunk] = compiled(text, minion=minion, memo=memo).lowstate
        assert (chunk.arguments["told"]["id"], chunk.arguments["told"]["seen"]) == (minion.id, 0)
    changed = {"_renderers/probe.py": "def render(data, *a, **k):\n    return {'new': {'test.nop': []}}\n"}
    assert names(compiled(text, changed, memo=memo)) == ["new"]
    done = compiled(text, memo=memo)
    assert (done.volatile, done.files) == (("#!probe",), None), "each push compiles it"
    unknown = compiled({"app.sls": "#!later\nx"}, memo=memo)
    assert not unknown.ok
    late = {"_renderers/later.py": "def render(data, *a, **k):\n    return {'late': {'test.nop': []}}\n"}
    assert names(compiled({"app.sls": "#!later\nx"}, late, memo=memo)) == ["late"]


@pytest.mark.parametrize(
    ("arguments", "args", "kwargs"), [(["a", "b"], ["a", "b"], {}), ({"k": "v"}, [], {"k": "v"}), ("x", ["x"], {})]
)
def test_an_external_pillar_of_the_tree(arguments, args, kwargs):
    done = compiled(ext_pillar=({"inventory": arguments},))
    assert done.pillar["got"] == ["web1", "red", args, kwargs, "web1", "web"]
    assert (done.volatile, done.files) == (("ext_pillar.inventory",), None)


def test_what_is_wrong_with_a_source_is_told():
    [problem] = compiled(ext_pillar=({"broken": []},)).errors
    assert problem.message.endswith("ZeroDivisionError: division by zero (_pillar/broken.py, line 2)")
    [problem] = compiled(ext_pillar=({"inventor": []},)).errors
    assert "there is no external pillar 'inventor'" in problem.message
    assert "inventory" in problem.hint
    off = {"allow_py_renderer": False}
    for given in ({"ext_pillar": ({"inventory": []},)}, {"master_tops": {"roles": "role-"}}):
        [problem] = compiled(**given, opts=off).errors
        assert "is Python of the tree, which is switched off" in problem.message


def test_a_renderer_of_the_tree_that_is_switched_off_is_said_to_be_so():
    tree = files({"top.sls": "base: {'*': [app]}", "app.sls": "#!probe\nx", "_renderers/probe.py": "1 / 0"})
    opts = {"allow_py_renderer": False}
    ports = CompileModules(tree=Tree(tree), minion=WEB, opts=opts).over(NO_PORTS)
    [problem] = compile_minion(tree, MemoryFiles({}), WEB, CompileOptions(opts=opts), None, ports).errors
    assert "the renderer 'probe' runs Python of the tree, which is switched off" in problem.message


def test_tops_of_the_tree():
    done = compiled(master_tops={"roles": "role-"})
    assert names(done) == ["a", "role"]
    assert done.volatile == ("master_tops.roles",)


class Controller:
    """Facts of somebody who has one runner."""

    def answer(self, fun, args, kwargs):
        return Fact(value="theirs") if args == ["select.held"] else Fact(error="there is no such runner", absent=True)


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("'select.who', arg=['x']", "['x', 'b', 'web1']"),
        ("'select.who', first='x', second='y'", "['x', 'y', 'web1']"),
        ("'select.held'", "theirs"),
    ],
)
def test_runners_of_the_tree(call, value):
    text = {
        "app.sls": "#!jinja|yaml\na: {test.nop: [{name: \"{{ salt['saltutil.runner'](CALL) }}\"}]}".replace(
            "CALL", call
        )
    }
    done = compiled(text, ports=replace(NO_PORTS, facts=Controller()))
    assert names(done) == [value]
    assert (done.volatile, done.files) == (("saltutil.runner",), None)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        ("'select.stuck'", "KeyError: 'nothing' (_runners/select.py, line 6)"),
        ("'select.nope'", "no function nope"),
        ("'other.who'", "saltutil.runner"),
        ("1", "takes the name"),
    ],
)
def test_runners_that_fail_say_why(call, why):
    [problem] = compiled({"app.sls": "{{ salt['saltutil.runner'](CALL) }}".replace("CALL", call)}).errors
    assert why in problem.message
    off = {"allow_py_renderer": False}
    [problem] = compiled({"app.sls": "{{ salt['saltutil.runner']('select.who', arg=[1]) }}"}, opts=off).errors
    assert "switched off" in problem.message


def test_masterless_they_are_run_too():
    tree = files(STATES, {"app.sls": "#!upper WORD|yaml\nSHOUT: {test.nop: []}"})
    given = {"files": tree, "pillar_files": files(PILLARS), "minion": WEB}
    compiler = RootsCompiler(**given, language=compile_options({"ext_pillar": [{"inventory": ["a"]}]}))
    for done in (compiler.highstate(None), compiler.highstate({"more": 1}), compiler.sls(["app"], "base", None)):
        assert names(done) == ["WORD"]
        assert done.pillar["got"][0] == "web1"


def test_a_tree_without_programs_is_asked_for_nothing():
    tree = files({"top.sls": "base: {'*': [app]}", "app.sls": "#!nope\nx", "_modules/own.py": "x = 1"})
    ports = CompileModules(tree=Tree(tree), minion=WEB, opts={}).over(NO_PORTS)
    assert ports.facts is None
    assert not [*ports.pillar_sources, *ports.top_sources]
    [problem] = compile_minion(tree, MemoryFiles({}), WEB, CompileOptions(), None, ports).errors
    assert problem.message == "Rendering SLS 'base:app' failed: the renderer 'nope' is not known"
