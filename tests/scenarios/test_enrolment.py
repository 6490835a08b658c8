"""How a key comes to be accepted, with a real controller and real connections."""

import pytest
from strangers import Stranger

from wire.messages import DesiredUpdate, Hello, HelloAck, KeyRequest, KeyState


@pytest.fixture
def dial():
    """Opens connections, which end with the test."""
    opened = []

    def make(rig, keys=None, **options):
        opened.append(Stranger(rig, keys, **options).connect())
        return opened[-1]

    yield make
    for each in opened:
        each.close()


def test_a_minion_that_waits_is_told_at_once_that_its_key_is_accepted(make_rig, dial):
    rig = make_rig(minions={})
    rig.push("first")
    minion = dial(rig)
    assert minion.ask(KeyRequest(id="web1"), KeyState).state == "pending"
    rig.saltern("key", "accept", "web1", "--yes")
    assert minion.wait(KeyState).state == "accepted", "it asked once, and is told without asking again"
    minion.ask(Hello(id="web1", grains={"root": "/nowhere"}), HelloAck)
    minion.wait(DesiredUpdate)
    rig.saltern("key", "reject", "web1", "--yes")
    assert minion.ask(KeyRequest(id="web1"), KeyState).state == "rejected"
    rig.saltern("key", "accept", "web1", "--yes")
    assert minion.wait(KeyState).state == "accepted", "a rejected key, too"
