"""Jobs of several minions in one publication, and job ids that they share."""

import asyncio
import datetime
import itertools

import pytest

from gateway import publications as module
from gateway.publications import MOST_MINIONS, Publications

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """On a busy machine, too, what comes together belongs together."""
    monkeypatch.setattr(module, "JOIN_SECONDS", 60.0)
    monkeypatch.setattr(module, "QUIET_SECONDS", 0.05)
    monkeypatch.setattr(module, "MOST_SECONDS", 0.5)


class Said(Publications):
    """Publications at a clock that stands."""

    def __init__(self):
        self.said = []
        super().__init__(lambda minions, job: self.said.append((dict(minions), job)), lambda: START)

    async def ping(self, *minions, address=""):
        for each in minions:
            self.add(each, {"jid": self.new_jid(each, "ping"), "fun": "test.ping"}, address)

    async def all(self, count):
        while len(self.said) < count:
            await asyncio.sleep(0.001)
        return self.said


async def test_minions_that_are_to_do_the_same_are_told_by_one_publication():
    publications = Said()
    await publications.ping("web1", address="192.0.2.1")
    await publications.ping("web2")
    [(minions, job)] = await publications.all(1)
    assert minions == {"web1": "192.0.2.1", "web2": ""}
    assert (job["tgt"], job["tgt_type"], job["fun"]) == (["web1", "web2"], "list", "test.ping")


async def test_a_minion_gets_no_job_id_twice():
    publications = Said()
    await publications.ping("web1", "web1", "web2")
    said = await publications.all(2)
    assert [job["tgt"] for _, job in said] == [["web1"], ["web1", "web2"]]
    assert said[0][1]["jid"] < said[1][1]["jid"]


async def test_other_work_has_another_id():
    publications = Said()
    assert publications.new_jid("web1", "a") != publications.new_jid("web2", "b")
    assert publications.new_jid("web1") != publications.new_jid("web2")


async def test_other_arguments_are_said_for_themselves_though_the_id_is_the_same():
    """The controller's id of a job is that of all its minions; what it asks of each may name another job there."""
    publications = Said()
    for each in ("web1", "web2"):
        publications.add(each, {"jid": "1", "fun": "saltutil.find_job", "arg": [each]})
    assert [job["tgt"] for _, job in await publications.all(2)] == [["web1"], ["web2"]]


async def test_later_work_has_another_id(monkeypatch):
    monkeypatch.setattr(module, "JOIN_SECONDS", -1.0)
    publications = Said()
    assert publications.new_jid("web1", "a") != publications.new_jid("web2", "a")


async def test_a_publication_names_not_more_minions_than_its_limit():
    publications = Said()
    await publications.ping(*(f"m{number}" for number in range(MOST_MINIONS + 1)))
    assert [len(minions) for minions, _ in await publications.all(2)] == [MOST_MINIONS, 1]


async def test_a_job_is_said_however_many_come_after_it():
    publications = Said()
    async with asyncio.timeout(20):
        for number in itertools.count():
            publications.add(f"m{number}", {"jid": "1", "fun": "test.ping"})
            if publications.said:
                break
            await asyncio.sleep(0)


async def test_job_ids_rise_though_the_clock_stands():
    publications = Said()
    jids = [publications.new_jid("web1", "same") for _ in range(2000)]
    assert jids == sorted(set(jids))
    assert all(len(jid) == 20 for jid in jids)
