"""Who is there, and what was there: kept in the store, so that it is known of minions that are gone."""

import pytest

from controller.jobs.minion_presence import ConnectedMinion, presence_of
from controller.store import Store
from controller.store.minions import MOST_AGENT, GreetedMinion


@pytest.fixture
def store(tmp_path):
    with Store(f"sqlite:///{tmp_path}/store.db") as store:
        store.minions.greeted(
            {
                "stock1": GreetedMinion(now=7.0, grains={}, session="s", held="", agent="salt 3008.1"),
                "web1": GreetedMinion(now=8.0, grains={}, session="s", held="", agent="saltern python/3.13"),
            },
            [],
        )
        yield store


def agents(store, connected=None, shadowed=()):
    rows = presence_of(store, ["new1", "stock1", "web1"], connected or {}, shadowed)
    return {each.minion: (each.connected, each.agent, each.last_seen, each.shadow) for each in rows}


def test_the_last_agent_is_known_when_its_minion_is_gone(store):
    assert agents(store) == {
        "new1": (False, "", None, False),
        "stock1": (False, "salt 3008.1", 7.0, False),
        "web1": (False, "saltern python/3.13", 8.0, False),
    }


def test_what_is_connected_is_told_before_what_was(store):
    found = agents(store, {"stock1": ConnectedMinion((), "", "saltern python/3.13")}, ["web1"])
    assert found["stock1"] == (True, "saltern python/3.13", 7.0, False)
    assert found["web1"][-1], "in shadow"


def test_another_agent_takes_the_place_of_the_one_before(store):
    said = GreetedMinion(now=9.0, grains={}, session="s", held="", agent="x" * 10_000)
    store.minions.greeted({"stock1": said}, ["stock1"])
    assert agents(store)["stock1"][1] == "x" * MOST_AGENT
    store.minions.seen("stock1", 10.0)
    assert agents(store)["stock1"][1:3] == ("x" * MOST_AGENT, 10.0), "a sign of life takes nothing away"
