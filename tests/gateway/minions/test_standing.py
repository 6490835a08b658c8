"""Who speaks for a minion, and what is said twice."""

import pytest

from gateway.minions import standing as module
from gateway.minions.standing import Claim, GatewayStanding, SaidTwice

OTHER = Claim(gateway=0, state="accepted")


class Clock:
    def __init__(self, monkeypatch):
        self.now = 1000.0
        monkeypatch.setattr(module.time, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


class Minion:
    def __init__(self, *, alone=False):
        self.spoke, self.settled = [], False
        self.standing = GatewayStanding(alone=alone, speak=self.spoke.append, settled=lambda: self.settled)


def test_a_gateway_that_is_alone_always_speaks():
    minion = Minion(alone=True)
    minion.standing.decide(OTHER)
    minion.standing.lost()
    assert minion.standing.speaks
    assert minion.spoke == [True]


def test_one_of_several_speaks_once_the_minion_is_there_and_no_other_does():
    minion = Minion()
    assert (minion.standing.speaks, minion.spoke) == (False, [False])
    minion.standing.decide(OTHER)
    assert not minion.standing.speaks
    minion.standing.decide(None)
    minion.standing.decide(None)
    assert minion.spoke == [False, True]
    minion.standing.decide(OTHER)
    assert minion.spoke == [False, True, False]


def test_whoever_begins_to_speak_claims_it_before_the_controller_has_answered(clock):
    minion = Minion()
    assert not minion.standing.claims(True)
    minion.standing.decide(None)
    assert minion.standing.claims(False)
    clock.now += 16
    assert not minion.standing.claims(True)  # the controller does not answer here: another may
    minion.settled = True
    assert minion.standing.claims(True)
    assert not minion.standing.claims(False)  # the minion is not there any more


def test_a_lost_connection_is_taken_up_once_the_minion_is_heard():
    minion = Minion()
    minion.standing.decide(None)
    minion.standing.lost()
    minion.standing.lost()
    assert minion.spoke == [False, True, False]
    minion.standing.decide(None)
    assert minion.standing.speaks


def test_what_comes_by_both_ways_is_told_as_often_as_it_was_said(clock):
    said = SaidTwice()

    def new(passed_on, **load):
        load = {"tag": "a", "data": {"b": 1}, "nonce": str(clock.now), "ts": int(clock.now), **load}
        return said.is_new("_minion_event", load, passed_on=passed_on)

    assert new(False)
    assert not new(True)
    assert new(True)  # it was said twice there
    assert not new(False)
    assert new(False)
    assert new(True, tag="other")
    clock.now += 61
    assert new(True)
