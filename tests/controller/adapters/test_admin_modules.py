"""The administrator's own modules: external pillars, tops and runners in Salt's contract; broken ones hide none."""

import pytest

from controller.adapters.sdb import Profiles
from controller.compilation.compile_ports import plugins_of, ports_of
from controller.compilation.mine import MineStore
from controller.compilation.runners import Runners
from controller.config.sections import PortOptions
from controller.sessions.sessions import KeyRegistry, Session, Sessions
from controller.store import Store
from highstate.compile import CompileOptions, compile_minion
from highstate.files import MemoryFiles
from highstate.ports import SourceFailed, question
from highstate.types import Minion
from wire.messages import FactQuery, MineEntry

WEB = Minion(id="web1", grains={"id": "web1", "role": "web"})
DB = Minion(id="db1", grains={"id": "db1", "role": "db"})
PILLAR = """
__virtualname__ = "inventory"

def __virtual__():
    return __virtualname__

def ext_pillar(minion_id, pillar, *args, **kwargs):
    tool = __utils__["tool.double"](21)
    return {"id": minion_id, "role": __grains__["role"], "opt": __opts__["mine_color"], "args": list(args),
            "kwargs": kwargs, "so_far": pillar.get("p"), "tool": tool, "own": __salt__["own.name"](),
            "opts_id": __opts__["id"], "set": {1}}
"""
TOPS = """
def top(**kwargs):
    place = __opts__["master_tops"]["cobbled"]["env"]
    return {place: ["role-" + kwargs["grains"]["role"]]} if kwargs["opts"]["id"] == __opts__["id"] else {}
"""
RUNNERS = """
def who(first, second="b"):
    return [first, second, __opts__["id"]]

def stuck():
    raise KeyError("nothing")

def strange():
    return object()
"""


@pytest.fixture
def home(tmp_path):
    files = {
        "pillar/inv.py": PILLAR,
        "pillar/broken.py": "import does_not_exist\n",
        "pillar/none.py": "def __virtual__():\n    return False, 'not on this machine'\n",
        "_tops/cobbled.py": TOPS,
        "runners/select.py": RUNNERS,
        "utils/tool.py": "def double(number):\n    return 2 * number\n",
        "modules/own.py": "def name():\n    return __grains__['id'] + '!'\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def options(home):
    return PortOptions(extension_modules=str(home), configuration={"mine_color": "red"})


def test_an_external_pillar_has_salts_arguments_and_dunders(options):
    source = ports_of(options).pillar_sources["inventory"]
    for minion in (WEB, DB, WEB):
        found = source.pillar(minion, {"p": 1}, ["a", "b"])
        assert (found["id"], found["role"], found["own"]) == (minion.id, minion.grains["role"], minion.id + "!")
    assert (found["opt"], found["args"], found["so_far"], found["tool"]) == ("red", ["a", "b"], 1, 42)
    assert (found["opts_id"], found["set"]) == ("web1", [1])
    assert source.pillar(WEB, {}, {"k": 1})["kwargs"] == {"k": 1}
    assert source.pillar(WEB, {}, "x")["args"] == ["x"]


def test_one_that_is_broken_says_why_and_hides_no_other(options):
    sources = ports_of(options).pillar_sources
    assert {"inventory", "broken", "none", "cmd_yaml"} <= set(sources)
    for name, why in (("broken", "does_not_exist"), ("none", "not on this machine")):
        with pytest.raises(SourceFailed, match=why):
            sources[name].pillar(WEB, {}, [])
    with pytest.raises(KeyError):
        sources["nope"]


def test_a_module_is_loaded_anew_when_its_file_changes(options, home):
    sources = ports_of(options).pillar_sources
    assert sources["inventory"].pillar(WEB, {}, [])["tool"] == 42
    (home / "utils/tool.py").write_text("def double(number):\n    return 'new'\n")
    assert sources["inventory"].pillar(WEB, {}, [])["tool"] == "new"
    (home / "pillar/inv.py").unlink()
    assert "inventory" not in sources


def test_they_are_part_of_a_compile(options):
    settings = CompileOptions(ext_pillar=({"inventory": ["x"]},), master_tops={"cobbled": {"env": "base"}})
    tree = {"role-web.sls": b"x: {test.nop: [{name: {{ pillar.role }}}]}", "top.sls": b"{}"}
    done = compile_minion(MemoryFiles({"base": tree}), MemoryFiles({}), WEB, settings, None, ports_of(options))
    assert [chunk.name for chunk in done.lowstate] == ["web"], done.errors
    broken = CompileOptions(ext_pillar=({"broken": []},))
    done = compile_minion(MemoryFiles({"base": tree}), MemoryFiles({}), WEB, broken, None, ports_of(options))
    assert "does_not_exist" in str(done.errors[0])


@pytest.fixture
def runners(tmp_path, options):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        sessions = Sessions()
        for at, minion in enumerate((WEB, DB)):
            store.minions.seen(minion.id, 1.0, grains=minion.grains)
            store.keys.request(f"{at}" * 40, minion.id, 1.0)
            store.keys.set_state(minion.id, "accepted", 1.0)
        sessions.connect(Session(minion="web1", key="0" * 40, session="", grains={}, seen=1.0))
        mines = MineStore(
            store=store, pillar_of=lambda minion: {}, accepted=lambda: KeyRegistry(store.keys.all()).accepted
        )
        mines.put("web1", {"addr": MineEntry(value=1), "kept": MineEntry(value=2, allow="web*")})
        yield Runners(
            store=store, sessions=sessions, mines=mines, plugins=lambda: plugins_of(options), profiles=Profiles({})
        )


def ask(runners, *args, **kwargs):
    return runners.answer(FactQuery(fun="saltutil.runner", asked=question(args, kwargs)), WEB)


@pytest.mark.parametrize(
    ("args", "kwargs", "value"),
    [
        (("mine.get",), {"tgt": "*", "fun": "addr"}, {"web1": 1}),
        (("mine.get", ["*", "addr"]), {}, {"web1": 1}),
        (("mine.get",), {"arg": ["*"], "kwarg": {"fun": "addr", "tgt_type": "glob"}}, {"web1": 1}),
        (("mine.get",), {"tgt": "*", "fun": "kept"}, {}),
        (("cache.mine",), {"tgt": "web1"}, {"web1": {"addr": 1}}),
        (("cache.grains",), {"tgt": "role:db", "tgt_type": "grain"}, {"db1": dict(DB.grains)}),
        (("manage.up",), {}, ["web1"]),
        (("manage.down",), {}, ["db1"]),
        (("manage.status",), {}, {"up": ["web1"], "down": ["db1"]}),
        (("select.who", "x"), {}, ["x", "b", "web1"]),
        (("select.who",), {"first": "x", "second": "y"}, ["x", "y", "web1"]),
    ],
)
def test_runners_that_look(runners, args, kwargs, value):
    said = ask(runners, *args, **kwargs)
    assert (said.answer.error, said.answer.value) == ("", value)
    assert bool(said.mark) == (not args[0].startswith("select")), "what is known to change is looked at again"


@pytest.mark.parametrize(
    ("args", "why"),
    [
        (("pillar.show_pillar", "db1"), "there is no runner"),
        (("salt.cmd", "cmd.run", "id"), "there is no runner"),
        (("a", 1, {}, 4), "takes the name"),
        (("cache.grains", ["*", "pillar"]), "type 'pillar'"),
        (("manage.up", [1, 2, 3]), "manage.up"),
        (("select.nope",), "no function nope"),
        (("select.stuck",), "KeyError"),
        (("select.strange",), "no plain data"),
        ((), "takes the name"),
    ],
)
def test_what_cannot_be_answered_says_so(runners, args, why):
    assert why in ask(runners, *args).answer.error
