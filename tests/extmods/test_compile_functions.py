"""`__salt__` of modules that a compile calls: what templates have, the tree's own, and nothing of a machine."""

from __future__ import annotations

import pytest

from extmods.compile_functions import CompileFunctions, CompileHost
from extmods.loader import UserModules
from highstate.files import MemoryFiles
from highstate.functions.call import FunctionFailed
from highstate.types import Minion

WEB = Minion(id="web1", grains={"id": "web1", "roles": ["a"]})
OWN = b"def name():\n    return 'own'\n"


class Sources:
    """Two modules, one with the name of a built-in."""

    def index(self):
        return {"modules": {"own": "1", "pillar": "2"}}

    def source(self, oid):
        return OWN if oid == "1" else b"def get(key):\n    return 'mine'\n"


def functions(modules=None, pillar=None):
    host = CompileHost(MemoryFiles({"base": {"a/b.txt": b"text"}}))
    empty = UserModules(store=Sources(), dunders=dict, quiet=True) if modules else None
    return host.scope(empty, WEB, {"opt": 1}, pillar or {}).functions


def test_functions_of_templates_give_plain_data():
    found = functions(pillar={"p": {"q": [1]}})
    assert found["grains.get"]("roles") == ["a"]
    assert type(found["pillar.get"]("p")) is dict
    assert found["cp.get_file_str"]("salt://a/b.txt") == "text"
    assert found["slsutil.renderer"](string="a: {{ grains.id }}") == {"a": "web1"}
    assert {"grains.get", "http.query"} <= set(found)
    assert len(found) == len(list(found))


def test_the_trees_own_come_first():
    found = functions(modules=True, pillar={"p": 1})
    assert found["own.name"]() == "own"
    assert found["pillar.get"]("p") == "mine"
    assert "own.name" in list(found)


@pytest.mark.parametrize("fun", ["cmd.run", "file.write", "state.apply"])
def test_nothing_of_a_machine(fun):
    assert fun not in functions()
    assert functions().get(fun) is None
    with pytest.raises(FunctionFailed, match="asks the live machine"):
        functions()[fun]
    assert isinstance(functions(), CompileFunctions)


def test_http_that_cannot_be_asked_is_an_error_and_no_exception():
    assert functions()["http.query"]("file:///etc/passwd") == {
        "error": "file:///etc/passwd is no http:// or https:// URL"
    }


def test_what_can_be_imported():
    imports = CompileHost(MemoryFiles({})).imports
    assert imports.has_module("hashutil")
    assert not imports.has_module("cmd")
    assert imports.function("hashutil.md5_digest")("x") == "9dd4e461268c8034f5c8564e155c67a6"
    assert imports.function("cmd.run") is None
