"""When a controller looks at its remotes before it decides for a minion that another controller has served."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from controller.reconcile.remote_lag import FETCH_SECONDS, RemoteLag
from controller.sessions.sessions import Session
from wire.messages import APPLIES_NOW, NOT_APPLIED


@pytest.fixture
def scene():
    clock, fetched = SimpleNamespace(now=100.0), []
    lag = RemoteLag(remotes=("states", "pillar"), fetch=lambda: fetched.append(clock.now), monotonic=lambda: clock.now)
    return SimpleNamespace(lag=lag, clock=clock, fetched=fetched)


def said(applied):
    return Session(minion="web1", key="k", session="s", grains={}, seen=0.0, applied=applied)


@pytest.mark.parametrize("applied", ["", APPLIES_NOW, "desired", "applied"])
def test_who_says_nothing_new_waits_for_nothing(scene, applied):
    assert scene.lag.unfetched(said(applied), ["desired", "applied"]) == ()
    assert scene.lag.unfetched(None, []) == ()


@pytest.mark.parametrize("applied", ["unknown", NOT_APPLIED])
def test_each_remote_is_fetched_after_the_minion_has_said_so(scene, applied):
    under_way = scene.lag.begin()
    session = said(applied)
    assert scene.lag.unfetched(session, ["desired"]) == ("states", "pillar")
    assert scene.lag.wait("web1") == 0.0
    assert scene.lag.fetched("states", under_way) == {"web1"}
    assert scene.lag.unfetched(session, ["desired"]) == ("states", "pillar"), "that fetch had begun before"
    scene.lag.wait("web1")
    number = scene.lag.begin()
    assert scene.lag.fetched("pillar", number) == {"web1"}
    assert scene.lag.unfetched(session, ["desired"]) == ("states",)
    scene.lag.fetched("states", number)
    assert scene.lag.unfetched(session, ["desired"]) == ()
    assert scene.lag.unfetched(said(applied), ["desired"]) == ("states", "pillar"), "another connection"


def test_however_many_ask_remotes_are_fetched_at_a_pace(scene):
    assert [scene.lag.wait(f"web{number}") for number in range(100)] == [0.0, *[FETCH_SECONDS] * 99]
    scene.clock.now += FETCH_SECONDS - 1
    assert scene.lag.wait("web1") == 1.0
    scene.clock.now += 1
    assert scene.lag.wait("web1") == 0.0
    assert scene.fetched == [100.0, 100.0 + FETCH_SECONDS]
    assert len(scene.lag.fetched("states", scene.lag.begin())) == 100
    assert scene.lag.fetched("pillar", scene.lag.begin()) == frozenset()


def test_a_fetch_that_began_earlier_and_ends_later_takes_nothing_back(scene):
    first, second = scene.lag.begin(), scene.lag.begin()
    session = said("unknown")
    scene.lag.unfetched(session, [])
    third = scene.lag.begin()
    for remote in ("states", "pillar"):
        scene.lag.fetched(remote, third)
        scene.lag.fetched(remote, first)
        scene.lag.fetched(remote, second)
    assert scene.lag.unfetched(session, []) == ()
