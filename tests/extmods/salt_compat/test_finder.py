"""User modules of the kinds that public trees have, and what of Salt they import."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from extmods.grains import user_grains
from extmods.store import ModuleStore
from highstate.files import MemoryFiles
from minion.execution import Context, Modules
from minion.execution.module_host import imported_functions
from minion.machine.durable_files import write_durably

MOVES = """
import salt.ext.six as six
from salt.ext import six as other
from salt.ext.six.moves import range, configparser, shlex_quote
from salt.ext.six.moves.urllib.parse import urljoin, urlparse
import salt.ext.six.moves.http_client

class Meta(type):
    def __new__(mcs, name, bases, names):
        return super().__new__(mcs, name, bases, {**names, "made": True})

@six.add_metaclass(Meta)
class Thing(object):
    pass

def all_of_it():
    return [
        list(range(2)), shlex_quote("a b"), urljoin("http://a.example.org/x/", "y"), urlparse("http://h/p").path,
        salt.ext.six.moves.http_client.OK == 200, Thing.made, isinstance("x", other.string_types),
        configparser.ConfigParser().sections(),
    ]
"""

IMPORTED = """
import functools
import os.path
from os import listdir
from os.path import join
from typing import Tuple
import salt.modules.file
from salt.modules.cmdmod import _run_all_quiet
from salt.modules.file import file_exists

half = functools.partial(max, 1)

def there(path):
    code = _run_all_quiet("sh -c 'exit 3'")["retcode"]
    return [file_exists(path), salt.modules.file.file_exists(path + ".not"), code]
"""

INNER = """
from salt.client import LocalClient
from salt.pillar import get_pillar

class Own(LocalClient):
    pass

def catch():
    try:
        return 1
    except LocalClient:
        return 2

def use():
    return get_pillar({}, {}, "x")
"""

GRAIN = """
import salt.modules.cmdmod

def rack():
    return {"rack": salt.modules.cmdmod._run_quiet("echo r7"), "seen": __grains__["id"]}
"""

BEACON = """
def validate(config):
    return True, "good"

def beacon(config):
    return [{"tag": "x"}]
"""


def context_of(tree: dict[str, str], **more: Any) -> Context:
    files = MemoryFiles({"base": {path: text.encode() for path, text in tree.items()}})
    context = Context(minion_id="web1", make_files=lambda: files, **more)
    context.sync_user_modules(("modules", "states", "beacons", "utils"))
    return context


def test_six_and_what_it_moves():
    modules = Modules(context_of({"_modules/moved.py": MOVES}))
    assert modules.call("moved.all_of_it") == [
        [0, 1], "'a b'", "http://a.example.org/x/y", "/p", True, True, True, [],
    ]  # fmt: skip


def test_only_functions_of_the_module_itself_are_its_functions():
    context = context_of({"_modules/faced.py": IMPORTED})
    assert context.user_modules.names("modules") == ["faced.half", "faced.there"]
    assert Modules(context).call("faced.there", ["/etc/passwd"]) == [True, False, 3]


def test_what_is_not_here_can_be_imported_and_says_so_when_it_is_used():
    modules = Modules(context_of({"_modules/inner.py": INNER}))
    assert modules.call("inner.catch") == 1
    with pytest.raises(AttributeError, match="get_pillar is a part of Salt's own workings"):
        modules.call("inner.use")


def test_grains_that_run_commands(tmp_path: Path):
    store = ModuleStore(str(tmp_path), write=write_durably)
    store.sync(MemoryFiles({"base": {"_grains/rack.py": GRAIN.encode()}}), ("grains",))
    assert user_grains(store, "web1", {"id": "web1"}, {}, imported_functions()) == {"rack": "r7", "seen": "web1"}


def test_files_of_one_name_are_one_module():
    first = '__virtualname__ = "sol"\ndef __virtual__():\n    return __virtualname__\ndef a():\n    return 1\n'
    context = context_of({"_modules/sol.py": first, "_modules/sol_more.py": first.replace("def a", "def b")})
    assert context.user_modules.names("modules") == ["sol.a", "sol.b"]


def test_a_name_that_is_no_word_of_python():
    modules = Modules(context_of({"_modules/389ds.py": "def ok():\n    return __name__\n"}))
    assert modules.call("389ds.ok").endswith("389ds")


def test_beacons_are_loaded_and_listed(tmp_path: Path):
    context = context_of({"_beacons/watch.py": BEACON, "_beacons/bad.py": "import nothing_of_that_name\n"})
    assert context.user_modules.names("beacons") == ["watch.beacon", "watch.validate"]
    assert "nothing_of_that_name" in context.user_modules.failures["beacons.bad"]
    assert Modules(context).call("saltutil.list_extmods") == {"beacons": ["bad", "watch"]}
