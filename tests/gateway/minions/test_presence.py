"""Whether a stock minion is there, by its words, its connection and its answers to pings."""

import asyncio
import datetime

import pytest

from gateway.minions import presence as module
from gateway.minions.jobs import StockJobs
from gateway.minions.presence import StockPresence
from gateway.publications import Publications

HOME, OTHER = "192.0.2.1", "192.0.2.2"


class Link:
    """What the controller is told."""

    key_state = "accepted"
    online = True

    def __init__(self):
        self.left = 0

    def leave(self):
        self.left += 1
        self.online = False


class Minion:
    """A minion that answers pings at some addresses."""

    def __init__(self, *hears):
        self.hears = set(hears)
        self.connected = {HOME}
        self.pings = []
        self.answered = 0
        self.link = Link()
        publications = Publications(self._say, lambda: datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC))
        self.jobs = StockJobs("web1", publications, lambda: False)
        self.presence = StockPresence(
            "web1", self.jobs, self.link, lambda address: address in self.connected, self._pinged
        )
        self.presence.heard(HOME)

    def _pinged(self):
        self.answered += 1

    def _say(self, minions, job):
        address = minions["web1"]
        self.pings.append(address)
        if address in self.hears:
            asyncio.get_running_loop().call_soon(self._answer, job["jid"])

    def _answer(self, jid):
        self.presence.heard(HOME)
        self.jobs.returned({"jid": jid, "return": True})

    async def until(self, condition):
        watching = asyncio.ensure_future(self.presence.watch())
        try:
            async with asyncio.timeout(20):
                while not condition():
                    await asyncio.sleep(0.005)
        finally:
            watching.cancel()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    for name in (
        "FIRST_PING_SECONDS",
        "PING_SECONDS",
        "BACK_SECONDS",
        "DOUBT_PAUSE",
        "EVERYWHERE_PAUSE",
        "ELSEWHERE_SECONDS",
    ):
        monkeypatch.setattr(module, name, 0.1)


async def test_one_that_answers_at_its_address_is_told_there():
    minion = Minion(HOME, "")
    await minion.until(lambda: minion.answered)
    assert set(minion.pings) == {HOME}
    assert minion.answered == 1


async def test_one_that_listens_elsewhere_is_told_everywhere():
    """Its requests come from another address than its connection to the port of jobs."""
    minion = Minion("")
    await minion.until(lambda: minion.jobs.listens.is_set())
    assert minion.pings[:2] == [HOME, ""]
    assert minion.jobs.address == ""


async def test_one_that_answers_late_is_told_at_its_address_all_the_same(monkeypatch):
    """Else all that is said to it later would be said to everybody."""
    minion = Minion("")
    answer = minion._answer
    monkeypatch.setattr(minion, "_answer", lambda jid: (minion.hears.add(HOME), answer(jid)))
    await minion.until(lambda: minion.answered)
    assert (minion.pings, minion.jobs.address) == ([HOME, "", HOME], HOME)


async def test_one_whose_address_is_not_known_yet_is_told_there_once_it_has_answered():
    minion = Minion(HOME, "")
    minion.presence.address = ""
    await minion.until(lambda: minion.answered)
    assert minion.pings == ["", HOME]


async def test_one_without_a_connection_is_gone_without_a_ping():
    minion = Minion(HOME)
    await minion.until(lambda: minion.answered)
    minion.pings.clear()
    minion.connected.clear()
    minion.presence.connection_changed(False)
    await minion.until(lambda: minion.link.left)
    assert not minion.presence.is_there
    assert not minion.jobs.listens.is_set()
    assert minion.link.left == 1


async def test_one_whose_neighbour_goes_is_asked_and_stays():
    minion = Minion(HOME)
    await minion.until(lambda: minion.answered)
    minion.pings.clear()
    minion.presence.connection_changed(False)
    await minion.until(lambda: minion.pings)
    assert minion.presence.is_there
    assert minion.link.left == 0


async def test_one_that_does_not_answer_when_its_neighbours_are_there_is_gone():
    minion = Minion(HOME)
    await minion.until(lambda: minion.answered)
    minion.hears.clear()
    minion.presence.connection_changed(False)
    await minion.until(lambda: minion.link.left)
    assert not minion.presence.is_there


async def test_a_connection_that_comes_is_asked_at_once(monkeypatch):
    monkeypatch.setattr(module, "FIRST_PING_SECONDS", 60.0)
    minion = Minion()
    watched = asyncio.ensure_future(minion.until(lambda: minion.jobs.listens.is_set()))
    while not minion.pings:
        await asyncio.sleep(0.005)
    minion.hears.add(HOME)
    minion.presence.connection_changed(True)
    await watched


async def test_one_that_is_let_in_is_told_at_its_address_once_it_has_connected(monkeypatch):
    """What is said everywhere, all minions decrypt: of a thousand that come, each would for each other one."""
    monkeypatch.setattr(module, "ELSEWHERE_SECONDS", 60.0)
    minion = Minion(HOME, "")
    minion.connected.clear()
    minion.presence.let_in(HOME)
    assert minion.presence.expected_at == ""
    watched = asyncio.ensure_future(minion.until(lambda: minion.answered))
    for _ in range(3):  # others come meanwhile
        await asyncio.sleep(0.01)
        minion.presence.connection_changed(True)
    assert not minion.pings
    minion.connected.add(HOME)
    assert minion.presence.expected_at == HOME
    minion.presence.connection_changed(True)
    await watched
    assert minion.pings == [HOME]


async def test_one_that_is_let_in_and_connects_from_elsewhere_is_looked_for_everywhere(monkeypatch):
    monkeypatch.setattr(module, "ELSEWHERE_SECONDS", 0.05)
    minion = Minion("")
    minion.connected.clear()
    minion.presence.let_in(HOME)
    await minion.until(lambda: minion.jobs.listens.is_set())
    assert minion.pings == [""]
    assert minion.presence.expected_at == ""


async def test_others_that_come_do_not_have_it_looked_for_everywhere_each_time(monkeypatch):
    monkeypatch.setattr(module, "EVERYWHERE_PAUSE", 60.0)
    minion = Minion()
    minion.connected.clear()
    watched = asyncio.ensure_future(minion.until(lambda: minion.jobs.listens.is_set()))
    async with asyncio.timeout(20):
        while not minion.pings:
            await asyncio.sleep(0.005)
    for _ in range(20):
        await asyncio.sleep(0.005)
        minion.presence.connection_changed(True)
    assert minion.pings == [""]
    watched.cancel()
