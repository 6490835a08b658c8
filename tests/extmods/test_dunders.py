"""Salt's dunders of a module: what they show of the minion, and which functions they find."""

from __future__ import annotations

import pytest

from extmods.dunders import ModuleScope, dunders_of
from extmods.loader import UserModules
from extmods.store import ModuleStore
from highstate.files import MemoryFiles
from minion.machine.durable_files import write_durably

TREE = MemoryFiles({
    "base": {
        "_utils/shouting.py": b"def shout(text):\n    return text.upper()\n\ndef who():\n    return __grains__['id']\n",
        "_states/mine.py": b"def present(name):\n    return {'name': name, 'result': True}\n",
    }
})  # fmt: skip


class Builtin:
    """One built-in state."""

    def names(self):
        return ("test.nop",)

    def call(self, fun, name, arguments):
        return {"fun": fun, "name": name, **arguments}


@pytest.fixture
def dunders():
    store = ModuleStore("", write=write_durably)
    store.sync(TREE)
    modules = UserModules(store=store, dunders=dict)
    scope = ModuleScope(
        minion_id="web1",
        opts={"hash_type": "sha256", "id": "other", "test": True},
        grains={"id": "web1"},
        pillar={"p": 1},
        functions={"test.ping": lambda: True},
        states=Builtin(),
        cachedir="/c",
    )
    made = dunders_of(modules, scope)
    modules.bind(made)
    return made


def test_opts_are_those_of_the_minion(dunders):
    assert dunders["__opts__"] == {
        "hash_type": "sha256", "id": "web1", "test": True, "cachedir": "/c", "grains": {"id": "web1"},
        "pillar": {"p": 1},
    }  # fmt: skip
    assert (dunders["__grains__"], dunders["__pillar__"]) == ({"id": "web1"}, {"p": 1})
    assert dunders["__salt__"]["test.ping"]() is True


def test_utilities_are_found_by_full_name(dunders):
    utilities = dunders["__utils__"]
    assert utilities["shouting.shout"]("a") == "A"
    assert utilities["shouting.who"]() == "web1"
    assert sorted(utilities) == ["shouting.shout", "shouting.who"]
    assert len(utilities) == 2
    for name in ("shouting.none", "none.shout", "shouting"):
        with pytest.raises(KeyError):
            utilities[name]


def test_states_are_built_in_ones_and_those_of_the_tree(dunders):
    states = dunders["__states__"]
    assert list(states) == ["mine.present", "test.nop"]
    assert len(states) == 2
    assert states["test.nop"](5, a=1) == {"fun": "test.nop", "name": "5", "a": 1}
    with pytest.raises(KeyError):
        states["test.none"]
