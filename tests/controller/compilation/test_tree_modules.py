"""Python of a tree behind the walls of the process that compiles: it serves, and reaches nothing but the trees."""

import subprocess
import sys
from contextlib import closing
from dataclasses import replace

import msgspec
import pytest

from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_pool import CompilePool
from controller.compilation.recorded_facts import FleetAnswer
from controller.compilation.sandbox import SandboxPolicy
from controller.offline.cases import parse_case
from controller.offline.linting import LintJob, lint
from controller.offline.show import answer_case
from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.lint import Sample
from highstate.types import Minion
from wire.messages import FactAnswer

STATES = {
    "top.sls": "base: {'*': [app]}",
    "app.sls": "#!jinja|mine|yaml\nWHO: {test.nop: [{name: {{ salt['saltutil.runner']('select.who', arg=['x']) }}}]}",
    "extra.sls": "extra: {test.nop: []}",
    "_renderers/mine.py": "def render(data, *a, **k):\n    return data.read().replace('WHO', __grains__['id'])\n",
    "_pillar/inventory.py": "def ext_pillar(minion_id, pillar, key):\n    return {key: minion_id}\n",
    "_tops/roles.py": "def top(**kwargs):\n    return {'base': ['extra']}\n",
    "_runners/select.py": "def who(first):\n    return first + __opts__['id']\n",
}
LANGUAGE = CompileOptions(ext_pillar=({"inventory": ["key"]}, {"cmd_json": "echo '{}'"}), master_tops={"roles": "x"})
REACH = {
    "file": "open('/etc/shadow').read()",
    "write": "open({marker!r}, 'w').write('ran')",
    "program": "__import__('subprocess').run(['/bin/touch', {marker!r}])",
    "network": "__import__('socket').create_connection(('127.0.0.1', 9), 1)",
}


def request(*changed, ids=("web1", "db1"), **more):
    merged = {path: text.encode() for tree in (STATES, *changed) for path, text in tree.items()}
    return CompileRequest(
        files=MemoryFiles({"base": merged}),
        pillar=MemoryFiles({}),
        minions=tuple(Minion(id=each, grains={"id": each}) for each in ids),
        **{"language": LANGUAGE, **more},
    )


@pytest.fixture
def compiler():
    with closing(CompilePool(sandbox_policy=SandboxPolicy(), timeout=30.0)) as compiler:
        yield compiler


async def test_each_kind_works_and_is_loaded_anew_when_a_push_changes_it(compiler):
    for answer in await compiler.compile(request()):
        assert answer.errors == ()
        document = msgspec.msgpack.decode(answer.document)
        assert document["pillar"] == {"key": answer.minion_id}
        found = {chunk["__id__"]: chunk["name"] for chunk in document["chunks"].values()}
        assert found == {answer.minion_id: f"x{answer.minion_id}", "extra": "extra"}
        assert answer.reads == (), "each push compiles it"
    changed = {"_pillar/inventory.py": "def ext_pillar(minion_id, pillar, key):\n    return {'new': 1}\n"}
    [answer] = await compiler.compile(request(changed, ids=("web1",)))
    assert msgspec.msgpack.decode(answer.document)["pillar"] == {"new": 1}


async def test_runners_of_the_controller_win_over_those_of_a_tree():
    said = [
        FleetAnswer(answer=FactAnswer(value="theirs"), mark=""),
        FleetAnswer(answer=FactAnswer(error="no such runner"), mark="", absent=True),
    ]
    pool = CompilePool(sandbox_policy=SandboxPolicy(), timeout=30.0, fleet=lambda asked, minion: said[0])
    with closing(pool) as compiler:
        [answer] = await compiler.compile(request(ids=("web1",)))
        assert "theirs" in {chunk["name"] for chunk in msgspec.msgpack.decode(answer.document)["chunks"].values()}
        said.pop(0)
        [answer] = await compiler.compile(request(ids=("web1",)))
        assert "xweb1" in {chunk["name"] for chunk in msgspec.msgpack.decode(answer.document)["chunks"].values()}


@pytest.mark.parametrize("way", REACH)
@pytest.mark.parametrize("module", ["_renderers/mine.py", "_pillar/inventory.py", "_tops/roles.py"])
async def test_the_walls_hold(compiler, tmp_path, module, way):
    marker = tmp_path / "marker"
    function = {"_renderers": "render", "_pillar": "ext_pillar", "_tops": "top"}[module.partition("/")[0]]
    evil = f"def {function}(*a, **k):\n    {REACH[way].format(marker=str(marker))}\n    return {{}}\n"
    [answer] = await compiler.compile(request({module: evil}, ids=("web1",)))
    [problem] = answer.errors
    assert not marker.exists()
    assert "PermissionError: [Errno 13] Permission denied" in problem.message
    assert f"({module}, line 2)" in problem.message
    assert "compile_grants" in problem.hint


async def test_what_is_switched_off_is_not_even_loaded(compiler, tmp_path):
    marker = tmp_path / "marker"
    evil = f"open({str(marker)!r}, 'w').write('ran')\n"
    everywhere = {path: evil for path in STATES if path.startswith("_")}
    asked = replace(request(everywhere), language=replace(LANGUAGE, opts={"allow_py_renderer": False}))
    with closing(CompilePool(timeout=30.0)) as free:  # no walls: only what is not run leaves no marker
        for answer in await free.compile(asked):
            assert not answer.ok
            assert "allow_py_renderer" in str(answer.errors[0])
        apart = CompileOptions(opts={"allow_py_renderer": False})
        for text in ("#!mine\nx", "{{ salt['saltutil.runner']('select.who') }}: {test.nop: []}"):
            [answer] = await free.compile(request(everywhere, {"app.sls": text}, ids=("web1",), language=apart))
            assert "allow_py_renderer" in str(answer.errors[0])
        assert not marker.exists()
        await free.compile(request(everywhere, ids=("web1",)))
        assert marker.exists(), "the same is run where it may be"


@pytest.fixture
def folder(tmp_path):
    for path, text in STATES.items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    return tmp_path


def test_offline_tools_take_those_of_ones_own_tree(folder):
    options = {"ext_pillar": [{"inventory": ["key"]}], "master_tops": {"roles": "x"}}
    data = {"file_roots": {"base": [str(folder)]}, "grains": {"id": "web1"}, "highstate": True, "opts": options}
    answer = answer_case(parse_case(data)[0])
    assert answer.errors == ()
    assert [(low["__id__"], low["name"]) for low in answer.result] == [("web1", "xweb1"), ("extra", "extra")]
    (folder / "_renderers/mine.py").write_text("import does_not_exist\n")
    [problem] = answer_case(parse_case(data)[0]).errors
    assert "does_not_exist" in problem.message
    samples = (Sample(name="one", grains={}),)
    job = LintJob(file_roots={"base": [str(folder)]}, pillar_roots={}, samples=samples, settings=CompileOptions())
    assert "does_not_exist" in next(one.message for one in lint(job, timeout=30.0) if one.file == "app.sls")
    (folder / "_renderers/mine.py").write_text(STATES["_renderers/mine.py"])
    assert [one for one in lint(job, timeout=30.0) if one.file == "app.sls"] == []


NO_MINION = """
import sys
from controller.compilation.compile_messages import CompileRequest
from controller.compilation.compile_worker import WorkerState, answer
from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Minion

tree, language = eval(sys.stdin.read())
files = MemoryFiles({"base": {path: text.encode() for path, text in tree.items()}})
request = CompileRequest(
    files=files,
    pillar=MemoryFiles({}),
    minions=(Minion(id="web1", grains={"id": "web1"}),),
    language=CompileOptions(**language),
)
[compiled] = answer(request, WorkerState())
assert compiled.ok, compiled.errors
print(sorted(name for name in sys.modules if name.partition(".")[0] == "minion"))
"""


def test_a_compile_with_all_kinds_of_modules_imports_nothing_of_the_minion():
    given = repr((STATES, {"ext_pillar": ({"inventory": ["key"]},), "master_tops": {"roles": "x"}}))
    done = subprocess.run([sys.executable, "-c", NO_MINION], input=given, capture_output=True, text=True, check=False)
    assert (done.stdout.strip(), done.stderr) == ("[]", "")


async def test_modules_have_the_functions_of_templates_and_of_the_tree(compiler):
    pillar = (
        "import salt.modules.hashutil\nimport salt.utils.http\n"
        "def ext_pillar(minion_id, pillar, key):\n"
        "    return {'own': __salt__['own.name'](), 'id': __salt__['grains.get']('id'),\n"
        "            'run': 'cmd.run' in __salt__,\n"
        "            'digest': salt.modules.hashutil.md5_digest('x'),\n"
        "            'file': __salt__['cp.get_file_str']('salt://top.sls')[:4],\n"
        "            'asked': 'error' in salt.utils.http.query('http://127.0.0.1:9/')}\n"
    )
    own = "def name():\n    return __grains__['id'] + '!'\n"
    [answer] = await compiler.compile(request({"_pillar/inventory.py": pillar, "_modules/own.py": own}, ids=("web1",)))
    assert answer.errors == ()
    assert msgspec.msgpack.decode(answer.document)["pillar"] == {
        "own": "web1!", "id": "web1", "run": False, "digest": "9dd4e461268c8034f5c8564e155c67a6", "file": "base",
        "asked": True,
    }  # fmt: skip
    runs = "def ext_pillar(minion_id, pillar, key):\n    return {'id': __salt__['cmd.run']('id')}\n"
    [answer] = await compiler.compile(request({"_pillar/inventory.py": runs}, ids=("web1",)))
    [problem] = answer.errors
    assert "salt['cmd.run'] asks the live machine" in problem.message
    assert "(_pillar/inventory.py, line 2)" in problem.message
