import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from extmods.grains import user_grains
from extmods.salt_compat.exceptions import SaltException
from extmods.store import ModuleStore
from highstate.desired import chunk_keys
from highstate.files import MemoryFiles
from highstate.run.ports import RunHooks
from highstate.run.runner import run
from highstate.types import Chunk, StateResult
from minion.execution import CallFailed, Context, Modules
from minion.execution.errors import UnknownFunction
from minion.execution.state_engine import engine_of
from minion.machine.durable_files import write_durably
from minion.modules.state.runs import sync_for

GREETER = b"""
import logging
import salt.utils.files
import salt.utils.platform
from salt.exceptions import CommandExecutionError

log = logging.getLogger(__name__)
__virtualname__ = "greet"
__func_alias__ = {"list_": "list"}

def __virtual__():
    return __virtualname__ if salt.utils.platform.is_linux() else (False, "Linux only")

def hello(name, loud=False):
    text = "hello " + name + " from " + __grains__["id"] + " " + __pillar__["p"]
    return __utils__["shouting.shout"](text) if loud else text

def list_():
    return __salt__["test.echo"]("listed")

def fails():
    raise CommandExecutionError("no way")

def count():
    __context__["n"] = __context__.get("n", 0) + 1
    return __context__["n"]

def report():
    return "as it is"

__outputter__ = {"report": "txt"}

def _private():
    return 1
"""
SHOUTING = b"def shout(text):\n    return text.upper()\n"
MARK = b"""
import os

def present(name, text="x"):
    ret = {"name": name, "changes": {}, "result": True, "comment": "There already"}
    if os.path.exists(name):
        return ret
    if __opts__["test"]:
        ret.update(result=None, comment="Would be marked", changes={"mark": text})
        return ret
    with open(name, "w") as file:
        file.write(__salt__["greet.hello"](text))
    ret.update(changes={"mark": text}, comment="Marked by " + __low__["__id__"])
    return ret

def through(name, **kwargs):
    return __states__["file.managed"](name=name, contents="through")

def mod_watch(name, sfun=None, **kwargs):
    return {"name": name, "changes": {"watched": sfun}, "result": None if __opts__["test"] else True, "comment": "w"}

def crooked(name):
    return {"name": name}

def raising(name):
    raise ValueError("inside")
"""
GRAINS = b"def mine():\n    return {'rack': 7}\ndef with_others(grains=None):\n    return {'seen': grains['os']}\n"
BROKEN = b"import no.such.thing\n"
REFUSING = b"def __virtual__():\n    return False, 'not here'\ndef x():\n    return 1\n"
TREE = {
    "_modules/greeter.py": GREETER,
    "_modules/broken.py": BROKEN,
    "_modules/refusing.py": REFUSING,
    "_modules/readme.txt": b"no module",
    "_utils/shouting.py": SHOUTING,
    "_states/mark.py": MARK,
    "_states/zbroken.py": b"def (",
    "_grains/rack.py": GRAINS,
    "_grains/broken.py": b"1/0",
}


def context(tmp_path: Path, tree: dict[str, bytes] = TREE, **fields: Any) -> Context:
    cache = tmp_path / "cache"
    cache.mkdir(exist_ok=True)
    given: dict[str, Any] = {"cachedir": str(cache), **fields}
    return Context(
        minion_id="m",
        make_grains=lambda: {"id": "m", "os": "Debian"},
        make_pillar=lambda: {"p": "pillar"},
        make_files=lambda: MemoryFiles({"base": tree}),
        **given,
    )


@pytest.fixture
def here(tmp_path: Path) -> Context:
    made = context(tmp_path)
    made.sync_user_modules(("modules", "states", "grains", "utils"))
    return made


def apply(on: Context, *chunks: Chunk, test: bool = False) -> list[StateResult]:
    sync_for(on, chunks)
    engine = engine_of(on, on.machine, test=test)
    results = run(chunk_keys(chunks), engine, test=test, clock=time.time, hooks=RunHooks())
    return list(results.values())


def low(fun: str, name: str, state: str = "mark", **arguments: Any) -> Chunk:
    return Chunk(state=state, fun=fun, id=f"id of {fun}", name=name, sls="s", arguments=arguments)


def test_functions_have_what_salt_gives_them(here: Context) -> None:
    modules = Modules(here)
    assert modules.call("greet.hello", ("you",)) == "hello you from m pillar"
    assert modules.call("greet.hello", ("you",), {"loud": True}) == "HELLO YOU FROM M PILLAR"
    assert modules.call("greet.list") == "listed"
    assert [modules.call("greet.count"), modules.call("greet.count")] == [1, 2]
    assert "greet.hello" in modules.as_functions()
    for missing in ("greet._private", "greeter.hello", "greet.log", "greet.CommandExecutionError"):
        assert missing not in modules.as_functions()
    with pytest.raises(CallFailed, match=r"Usage: greet.hello\(name, loud=False\)"):
        modules.call("greet.hello")
    with pytest.raises(Exception, match="no way"):
        modules.call("greet.fails")


def test_one_broken_module_hides_no_other(here: Context) -> None:
    assert Modules(here).has("greet.hello")
    assert Modules(here).has("test.ping")
    failures = here.user_modules.failures
    assert failures["modules.refusing"] == "not here"
    assert "No module named 'no'" in failures["modules.broken"]
    assert not Modules(here).has("refusing.x")


def test_a_user_module_stands_before_a_built_in_one(tmp_path: Path) -> None:
    made = context(tmp_path, {"_modules/test.py": b"def ping():\n    return 'mine'\n"})
    assert Modules(made).call("test.ping") is True
    made.sync_user_modules(("modules",))
    assert Modules(made).call("test.ping") == "mine"


def test_sync_says_what_changed_and_keeps_by_content(tmp_path: Path) -> None:
    made = context(tmp_path)
    modules = Modules(made)
    assert modules.call("saltutil.sync_modules") == ["modules.broken", "modules.greeter", "modules.refusing"]
    assert modules.call("saltutil.sync_modules") == []
    assert modules.call("saltutil.sync_all")["states"] == ["states.mark", "states.zbroken"]
    later = context(tmp_path, {"_modules/greeter.py": b"def hello():\n    return 'new'\n"})
    assert Modules(later).call("greet.hello", ("x",)).startswith("hello x")
    assert "modules.greeter" in Modules(later).call("saltutil.sync_modules")
    assert Modules(later).call("greeter.hello") == "new"
    assert len(list((tmp_path / "cache/usermodules").glob("*.py"))) == 6


def test_without_a_cache_they_live_in_memory(tmp_path: Path) -> None:
    made = context(tmp_path, cachedir="")
    made.sync_user_modules(("modules", "utils"))
    assert Modules(made).call("greet.list") == "listed"
    gone = context(tmp_path, cachedir=str(tmp_path / "none/at/all"))
    gone.sync_user_modules(("modules", "utils"))
    assert Modules(gone).call("greet.list") == "listed"


def test_a_user_state(tmp_path: Path) -> None:
    made, name = context(tmp_path), str(tmp_path / "marked")
    pending = apply(made, low("present", name), test=True)[0]
    assert (pending.result, pending.changes, pending.comment) == (None, {"mark": "x"}, "Would be marked")
    assert not Path(name).exists()
    done = apply(made, low("present", name, text="you"))[0]
    assert (done.result, done.comment) == (True, "Marked by id of present")
    assert Path(name).read_text() == "hello you from m pillar"
    again = apply(made, low("present", name))[0]
    assert (again.result, again.changes) == (True, {})


@pytest.mark.parametrize("test", [True, False])
def test_a_user_state_that_watches(tmp_path: Path, test: bool) -> None:
    (tmp_path / "there").touch()
    change = low("succeed_with_changes", "c", "test")
    watching = low("present", str(tmp_path / "there"), watch=[{"test": "c"}])
    result = apply(context(tmp_path), change, watching, test=test)[1]
    assert (result.result, result.changes) == (None if test else True, {"watched": "present"})


def test_conditions_and_prereq_of_user_states(tmp_path: Path) -> None:
    name = str(tmp_path / "marked")
    kept = apply(context(tmp_path), low("present", name, unless="true"))[0]
    assert kept.comment == "unless condition is true"
    first = low("succeed_with_changes", "first", "test", prereq=[{"mark": name}])
    results = apply(context(tmp_path), first, low("present", name))
    assert [one.changes != {} for one in results] == [True, True]
    assert [one.changes for one in apply(context(tmp_path), first, low("present", name))] == [{}, {}]


@pytest.mark.parametrize(
    ("fun", "said"),
    [
        ("crooked", "Malformed state return: mark.crooked left out changes, result, comment"),
        ("raising", "ValueError: inside"),
        ("nothing", "'mark.nothing' is not available"),
    ],
)
def test_user_states_that_go_wrong(tmp_path: Path, fun: str, said: str) -> None:
    result = apply(context(tmp_path), low(fun, "x"))[0]
    assert result.result is False
    assert said in result.comment


def test_a_user_state_calls_a_built_in_one_which_knows_test(tmp_path: Path) -> None:
    made, name = context(tmp_path), str(tmp_path / "file")
    assert apply(made, low("through", name), test=True)[0].result is None
    assert not Path(name).exists()
    assert apply(made, low("through", name))[0].result is True
    assert Path(name).read_text() == "through\n"


def test_grains_of_the_tree(here: Context) -> None:
    grains = user_grains(ModuleStore(here.cachedir, write=write_durably), "m", {"os": "Debian"}, {})
    assert grains == {"rack": 7, "seen": "Debian"}
    assert user_grains(ModuleStore("", write=write_durably), "m", {}, {}) == {}


def test_the_face_stands_back_and_says_what_it_has_not() -> None:
    code = (
        "from extmods.salt_compat.finder import NAMES, install_finder\n"
        "import importlib\n"
        "install_finder(); install_finder()\n"
        "for name in NAMES: importlib.import_module(name)\n"
        "import salt.utils.data, salt.utils.stringutils, salt.utils.versions, salt.utils.dictupdate\n"
        "assert salt.utils.data.is_true('yes') and not salt.utils.data.is_true('no')\n"
        "assert salt.utils.stringutils.to_unicode(b'a') == 'a'\n"
        "assert salt.utils.versions.LooseVersion('1.10') > salt.utils.versions.LooseVersion('1.9')\n"
        "assert salt.utils.dictupdate.merge({'a': {'b': 1}}, {'a': {'c': 2}}) == {'a': {'b': 1, 'c': 2}}\n"
        "try:\n    import salt.cloud\nexcept ImportError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "No module named 'salt.cloud'"


def test_an_outputter_that_a_module_asks_for(here: Context) -> None:
    assert here.user_modules.outputter("greet.report") == "txt"
    assert here.user_modules.outputter("greet.hello") == here.user_modules.outputter("test.ping") == ""


def test_a_broken_module_says_where() -> None:
    files = MemoryFiles({"base": {"_modules/one.py": b"a = 1\nb = a / 0\n", "_modules/two.py": b"def f(:\n"}})
    context = Context(minion_id="m", make_files=lambda: files)
    context.sync_user_modules(("modules",))
    assert not context.user_modules.loaded("modules")
    assert context.user_modules.failures == {
        "modules.one": "ZeroDivisionError: division by zero (_modules/one.py, line 2)",
        "modules.two": "SyntaxError: invalid syntax (two.py, line 1)",
    }


FACE = """
import salt.loader
import salt.utils.atomicfile
import salt.utils.beacons
import salt.utils.functools
import salt.utils.http
import salt.utils.network
import salt.utils.url
import salt.utils.user
from salt.defaults.exitcodes import EX_USAGE
from salt.returners import get_returner_options
from salt.utils.decorators import depends, memoize, require_one_of
from salt.utils.event import tagify

__virtualname__ = "faced"

def _source():
    return __salt__["test.echo"](__virtualname__)

named = salt.utils.functools.namespaced_function(_source, globals())

@memoize
def once(value, seen=[]):
    seen.append(value)
    return list(seen)

@depends("not_bound")
def needing():
    return True

@depends("salt", True)
def having():
    return True

@depends("not_bound", fallback_function=lambda: "else")
def falling_back():
    return True

@depends("no_such.function")
def needing_a_function():
    return True

@require_one_of("a", "b")
def either(a=None, b=None):
    return a or b

def helpers(path):
    with salt.utils.atomicfile.atomic_open(path) as file:
        file.write("whole")
    return {
        "user": salt.utils.user.get_user(),
        "ip": [salt.utils.network.is_ipv4("10.0.0.1"), salt.utils.network.in_subnet("10.0.0.0/8", "10.1.2.3")],
        "url": list(salt.utils.url.parse("salt://a/b?saltenv=dev")),
        "beacon": salt.utils.beacons.list_to_dict([{"a": 1}, {"b": 2}]),
        "tag": tagify(["m", "x"], "minion"),
        "returner": get_returner_options("r", {}, {"host": "host"}, __salt__={}, __opts__={"r.host": "h"}),
        "code": EX_USAGE,
        "asked": salt.utils.http.query("file:///etc/passwd", status=True, opts=__opts__),
    }

def inner():
    return salt.loader.minion_mods({})
"""


def test_what_salts_helpers_do(tmp_path: Path) -> None:
    files = MemoryFiles({"base": {"_modules/faced.py": FACE.encode()}})
    context = Context(minion_id="m", make_files=lambda: files)
    context.sync_user_modules(("modules",))
    modules = Modules(context)
    assert modules.call("faced.named") == "faced"
    assert modules.call("faced.having") is True
    assert modules.call("faced.falling_back") == "else"
    with pytest.raises(UnknownFunction, match=r"'faced\.needing' is not available"):
        modules.call("faced.needing")
    assert modules.call("faced.once", [1]) == modules.call("faced.once", [1]) == [1]
    assert modules.call("faced.either", [], {"b": 2}) == 2
    found = modules.call("faced.helpers", [str(tmp_path / "file")])
    assert (tmp_path / "file").read_text() == "whole"
    assert found.pop("user")
    assert found == {
        "ip": [True, True],
        "url": ["a/b", "dev"],
        "beacon": {"a": 1, "b": 2},
        "tag": "salt/minion/m/x",
        "returner": {"host": "h"},
        "code": 64,
        "asked": {"error": "file:///etc/passwd is no http:// or https:// URL"},
    }
    for fun, says in (
        ("faced.needing_a_function", "no_such.function"),
        ("faced.either", "One of these"),
        ("faced.inner", "salt.loader.minion_mods is a part of Salt's own workings"),
    ):
        with pytest.raises((SaltException, AttributeError), match=says):
            modules.call(fun)


def test_some_are_synced_and_the_others_go(tmp_path):
    from highstate.files import MemoryFiles
    from minion.execution import Context, Modules

    tree = MemoryFiles({"base": {"_modules/one.py": b"", "_modules/two.py": b"", "_states/one.py": b""}})
    modules = Modules(Context(minion_id="x", make_files=lambda: tree, cachedir=str(tmp_path)))
    assert modules.call("saltutil.sync_modules") == ["modules.one", "modules.two"]
    changed = modules.call("saltutil.sync_all", (), {"extmod_whitelist": {"modules": ["two"]}})
    assert (changed["modules"], changed["states"]) == (["modules.one"], ["states.one"])
    assert modules.call("saltutil.sync_modules", (), {"extmod_blacklist": "two,three"}) == [
        "modules.one",
        "modules.two",
    ]
    assert modules.call("saltutil.list_extmods") == {"modules": ["one"], "states": ["one"]}
