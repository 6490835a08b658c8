"""Which keys wait for acceptance when more come than may wait."""

from __future__ import annotations

import pytest

from controller.sessions.pending_keys import FORGOTTEN_AFTER, PendingKeys
from wire.limits import StrangerLimits

ATTACKER, HONEST, OTHER = "192.0.2.1", "198.51.100.1", "203.0.113.1"


@pytest.fixture
def refused():
    return []


@pytest.fixture
def pending(refused):
    return PendingKeys(StrangerLimits(pending_keys=10, address_pending_keys=9), refused.append)


def fill(pending, address, count, now=0.0):
    for number in range(count):
        assert pending.make_room(address, now) == ""
        pending.ask(f"{address}-{number}", address, now)


def test_an_attacker_pushes_out_its_own_newest_key_and_nobody_elses(pending, refused):
    fill(pending, HONEST, 1)
    fill(pending, ATTACKER, 9)
    assert pending.make_room(OTHER, 1.0) == f"{ATTACKER}-8"
    pending.remove(f"{ATTACKER}-8")
    pending.ask("new", OTHER, 1.0)
    assert refused == ["pending-keys"]
    assert pending.make_room(ATTACKER, 2.0) is None
    assert f"{HONEST}-0" in pending._asked


def test_an_address_has_a_number_of_its_own(pending, refused):
    fill(pending, ATTACKER, 9)
    assert pending.make_room(ATTACKER, 0.0) is None
    assert pending.make_room(HONEST, 0.0) == ""
    assert refused == ["address-pending-keys"]


def test_a_key_that_asks_no_more_makes_room_first(pending):
    pending.reset(["old", "older"])
    fill(pending, ATTACKER, 8, now=FORGOTTEN_AFTER)
    pending.ask("old", HONEST, FORGOTTEN_AFTER)
    assert pending.make_room(OTHER, FORGOTTEN_AFTER + 1) == "older"


def test_a_key_counts_at_the_address_that_it_first_came_from(pending):
    pending.ask("a", HONEST, 0.0)
    pending.ask("a", ATTACKER, 1.0)
    assert len(pending) == 1
    fill(pending, ATTACKER, 9)
    pending.remove("a")
    pending.remove("a")
    assert pending.make_room(HONEST, 2.0) == ""
