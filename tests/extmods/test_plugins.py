"""Modules that a compile calls: external pillars and tops, with the dunders of the minion that is compiled for."""

from __future__ import annotations

import pytest

from extmods.dunders import ModuleScope
from extmods.plugins import Plugins, WithPlugins
from extmods.ports import NO_FUNCTIONS
from extmods.store import ModuleStore
from highstate.ports import SourceFailed
from highstate.types import Minion
from minion.machine.durable_files import write_durably

WEB = Minion(id="web1", grains={"os": "Debian"})
PILLAR = """
def ext_pillar(minion_id, pillar, *args, **kwargs):
    return {"of": minion_id, "os": __grains__["os"], "had": sorted(pillar), "args": list(args), "kwargs": kwargs}
"""
TOPS = """
def top(**kwargs):
    return {"base": [kwargs["opts"]["id"], kwargs["grains"]["os"], __opts__["master_tops"]["inventory"]]}
"""


class Host:
    """A process in which modules may call nothing."""

    imports = NO_FUNCTIONS

    def scope(self, modules, minion, opts, pillar):
        return ModuleScope(minion_id=minion.id, opts=opts, grains=minion.grains, pillar=pillar, functions={})


@pytest.fixture
def folder(tmp_path):
    for kind in ("pillar", "tops"):
        (tmp_path / kind).mkdir()
    (tmp_path / "pillar/inventory.py").write_text(PILLAR)
    (tmp_path / "tops/inventory.py").write_text(TOPS)
    return tmp_path


class Folder:
    """Modules of a folder, by content: the port that a store of the controller has."""

    def __init__(self, folder):
        self._folder = folder

    def index(self):
        return {
            kind: {one.stem: f"{kind}/{one.stem}/{one.read_text()}" for one in (self._folder / kind).glob("*.py")}
            for kind in ("pillar", "tops")
        }

    def source(self, oid):
        kind, name, _ = oid.split("/", 2)
        return (self._folder / kind / f"{name}.py").read_bytes()


@pytest.fixture
def plugins(folder):
    return Plugins(store=Folder(folder), host=Host())


@pytest.mark.parametrize(
    ("arguments", "args", "kwargs"),
    [("one", ["one"], {}), (["one", 2], ["one", 2], {}), ({"key": "value"}, [], {"key": "value"})],
)
def test_an_external_pillar_gets_its_entry(plugins, arguments, args, kwargs):
    assert plugins.source("pillar", "inventory").pillar(WEB, {"p": 1}, arguments) == {
        "of": "web1", "os": "Debian", "had": ["p"], "args": args, "kwargs": kwargs,
    }  # fmt: skip


def test_tops_see_their_entry_in_the_options(plugins):
    assert plugins.source("tops", "inventory").tops(WEB, "entry") == {"base": ["web1", "Debian", "entry"]}


def test_each_call_has_the_dunders_of_its_minion(plugins):
    source = plugins.source("pillar", "inventory")
    assert source.pillar(WEB, {}, [])["os"] == "Debian"
    assert source.pillar(Minion(id="db1", grains={"os": "Fedora"}), {}, [])["os"] == "Fedora"


def test_a_file_that_changes_is_loaded_anew(plugins, folder):
    assert plugins.names("pillar") == ["inventory"]
    (folder / "pillar/inventory.py").write_text("def ext_pillar(minion_id, pillar):\n    return {'new': True}\n")
    (folder / "pillar/other.py").write_text("def ext_pillar(minion_id, pillar):\n    return None\n")
    assert plugins.names("pillar") == ["inventory", "other"]
    assert plugins.source("pillar", "inventory").pillar(WEB, {}, []) == {"new": True}
    assert plugins.source("pillar", "other").pillar(WEB, {}, []) == {}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("def ext_pillar(minion_id, pillar):\n    raise ValueError('broken')\n", r"ValueError: broken"),
        ("def ext_pillar(minion_id, pillar):\n    raise SystemExit(3)\n", "SystemExit: 3"),
        ("def ext_pillar(minion_id, pillar):\n    return [1]\n", "it gave a list, not a mapping"),
        ("x = 1\n", "no function ext_pillar"),
        ("import no_such_library\n", "no_such_library"),
        ("def __virtual__():\n    return False, 'not here'\n", "not here"),
    ],
)
def test_a_broken_module_is_named_and_hides_no_other(plugins, folder, text, why):
    (folder / "pillar/broken.py").write_text(text)
    with pytest.raises(SourceFailed, match=why):
        plugins.source("pillar", "broken").pillar(WEB, {}, [])
    assert plugins.source("pillar", "inventory").pillar(WEB, {}, [])["of"] == "web1"
    assert set(plugins.names("pillar")) >= {"inventory"}


def test_a_module_that_is_not_there_is_named(plugins):
    with pytest.raises(SourceFailed, match="there is no such module"):
        plugins.source("pillar", "none").pillar(WEB, {}, [])


def test_plugins_come_before_what_is_built_in(plugins):
    sources = WithPlugins("pillar", {"inventory": "built in", "file_tree": "built in"}, plugins, lambda p, name: name)
    assert dict(sources) == {"inventory": "inventory", "file_tree": "built in"}
    assert len(sources) == 2


def test_modules_of_a_minions_store_serve_as_well():
    assert Plugins(store=ModuleStore("", write=write_durably), host=Host()).names("pillar") == []
