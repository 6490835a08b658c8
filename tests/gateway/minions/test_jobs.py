"""Jobs on a stock minion: published once, waited for, and lost only when the minion says so twice."""

import asyncio
import datetime
import itertools

import pytest

from gateway.minions import jobs as module
from gateway.minions.jobs import DEAF, IN_SHADOW, LOST, StockJobs
from gateway.publications import Publications

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(module, "ASK_AFTER", 0.02)
    monkeypatch.setattr(module, "LONGEST_ASK", 0.05)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.05)
    monkeypatch.setattr(module, "LISTEN_SECONDS", 0.05)


class Minion:
    """What is published, and what it returns."""

    def __init__(self, answers, *, shadow=False):
        self.said = []
        self._answers = answers
        self.shadow = shadow
        self.jobs = StockJobs("web1", Publications(self._publish, lambda: START), lambda: self.shadow)
        self.jobs.listens.set()

    def _publish(self, _minions, job):
        self.said.append(job)
        answer = self._answers.get(job["fun"])
        value = answer() if callable(answer) else answer
        if value is not None:
            load = {"jid": job["jid"], "return": value, "retcode": 0}
            asyncio.get_running_loop().call_soon(self.jobs.returned, load)


async def test_a_function_is_published_with_its_arguments_and_returns():
    minion = Minion({"test.echo": "hi"})
    found = await minion.jobs.run("test.echo", ("hi",), {"a": 1})
    assert found.value == "hi"
    [job] = minion.said
    assert (job["tgt"], job["tgt_type"], job["fun"]) == (["web1"], "list", "test.echo")
    assert job["arg"] == ["hi", {"__kwarg__": True, "a": 1}]
    assert len(job["jid"]) == 20


async def test_job_ids_rise_though_the_clock_stands():
    jobs = Minion({}).jobs
    jids = [jobs.new_jid() for _ in range(2000)]
    assert jids == sorted(set(jids))


@pytest.mark.usefixtures("quick")
async def test_a_job_that_the_minion_does_not_know_twice_is_lost():
    minion = Minion({"saltutil.find_job": {}, "saltutil.is_running": []})
    assert (await minion.jobs.run("cmd.run")).lost == LOST
    asked = ["saltutil.find_job", "saltutil.is_running"]
    assert [job["fun"] for job in minion.said] == ["cmd.run", *asked, *asked]


@pytest.mark.usefixtures("quick")
async def test_states_that_wait_behind_others_are_not_lost():
    """Minions of 3008 do not name them among the jobs that run."""
    others = itertools.chain([[{"fun": "state.apply"}]] * 5, itertools.repeat([]))
    minion = Minion({"saltutil.find_job": {}, "saltutil.is_running": lambda: next(others)})
    assert (await minion.jobs.run("state.sls")).lost == LOST
    assert [job["fun"] for job in minion.said].count("saltutil.is_running") == 7


@pytest.mark.usefixtures("quick")
async def test_a_job_that_still_runs_is_waited_for():
    answers = itertools.chain([{"pid": 1}] * 4, itertools.repeat({}))
    minion = Minion({"saltutil.find_job": lambda: next(answers)})
    running = asyncio.ensure_future(minion.jobs.run("cmd.run"))
    await asyncio.sleep(0.15)
    assert not running.done()
    minion.jobs.returned({"jid": minion.said[0]["jid"], "return": "done"})
    assert (await running).value == "done"


@pytest.mark.usefixtures("quick")
async def test_a_minion_that_answers_nothing_is_away_and_its_job_goes_on():
    minion = Minion({})
    running = asyncio.ensure_future(minion.jobs.run("cmd.run"))
    await asyncio.sleep(0.4)
    assert not running.done()
    minion.jobs.returned({"jid": minion.said[0]["jid"], "return": 1})
    assert (await running).value == 1


@pytest.mark.usefixtures("quick")
async def test_nothing_is_published_before_the_minion_listens():
    minion = Minion({"test.ping": True})
    minion.jobs.listens.clear()
    assert (await minion.jobs.run("test.ping")).lost == DEAF
    assert minion.said == []
    running = asyncio.ensure_future(minion.jobs.run("test.ping"))
    await asyncio.sleep(0)
    minion.jobs.returned({"jid": "another", "return": True})  # where it listens is not known by that
    assert minion.said == []
    minion.jobs.listens.set()
    assert (await running).value is True


async def test_a_return_that_nobody_waits_for_is_told_apart():
    minion = Minion({})
    assert not minion.jobs.returned({"jid": "1", "return": 1})
    assert not minion.jobs.returned({})


@pytest.mark.usefixtures("quick")
async def test_a_question_that_is_not_answered_is_none():
    assert await Minion({}).jobs.ask("test.ping") is None
    assert (await Minion({"test.ping": True}).jobs.ask("test.ping")).value is True


async def test_whoever_waits_asks_at_once_when_the_minion_has_started(monkeypatch):
    minion = Minion({"saltutil.find_job": {}, "saltutil.is_running": []})
    running = asyncio.ensure_future(minion.jobs.run("cmd.run"))
    while not minion.said:
        await asyncio.sleep(0.001)
    minion.jobs.restarted()
    while len(minion.said) < 3:
        await asyncio.sleep(0.001)
    assert [job["fun"] for job in minion.said] == ["cmd.run", "saltutil.find_job", "saltutil.is_running"]
    monkeypatch.setattr(module, "ASK_AFTER", 0.01)
    minion.jobs.restarted()
    assert (await running).lost == LOST


def test_a_job_has_the_id_that_the_controller_gives_it_once():
    jobs = Minion({}).jobs
    assert jobs.jid_of("20260101000000000001", "20260101000000000002") == "20260101000000000001"
    assert jobs.jid_of("20260101000000000001", "20260101000000000002") == "20260101000000000002"
    assert jobs.jid_of("20260101000000000001", "drift-1") not in ("20260101000000000001", "drift-1")


@pytest.mark.usefixtures("quick")
async def test_a_job_that_was_killed_ends_so_whether_or_not_its_command_left_something():
    minion = Minion(
        {
            "saltutil.find_job": {},
            "saltutil.kill_job": "Signal 9 sent to job 1 at pid 2",
            "saltutil.term_job": "Signal 15 sent to job 2 at pid 3",
        }
    )
    work = asyncio.ensure_future(minion.jobs.run("cmd.run", jid="1"))
    await asyncio.sleep(0)
    assert (await minion.jobs.kill("saltutil.kill_job", "1")).value.startswith("Signal")
    found = await work
    assert (found.lost, found.ending) == ("the run was ended by saltutil.kill_job", "cancelled")
    for retcode, lost in ((-9, "the run was ended by saltutil.term_job"), (0, "")):
        work = asyncio.ensure_future(minion.jobs.run("cmd.run", jid="2"))
        await asyncio.sleep(0)
        kill = asyncio.ensure_future(minion.jobs.kill("saltutil.term_job", "2"))
        await asyncio.sleep(0)
        minion.jobs.returned({"jid": "2", "return": "out", "retcode": retcode})
        found = await work
        assert (found.value, found.lost) == ("out", lost)
        await kill


@pytest.mark.parametrize(
    ("fun", "kwargs"),
    [("cmd.run", {}), ("state.sls", {}), ("state.sls", {"test": "yes"}), ("state.single", {"test": False})],
)
async def test_in_shadow_nothing_is_published_that_may_change_something(fun, kwargs):
    minion = Minion({fun: "done"}, shadow=True)
    assert (await minion.jobs.run(fun, ("web",), kwargs)).lost == IN_SHADOW
    assert not minion.said
    minion.shadow = False
    assert (await minion.jobs.run(fun, ("web",), kwargs)).value == "done"


async def test_in_shadow_states_are_tested_and_functions_that_look_are_called():
    minion = Minion({"state.sls": {}, "grains.items": {"os": "Debian"}}, shadow=True)
    assert (await minion.jobs.run("state.sls", ("web",), {"test": True})).value == {}
    assert (await minion.jobs.run("grains.items")).value == {"os": "Debian"}


async def test_a_job_that_waited_while_its_minion_came_into_shadow_is_not_published():
    minion = Minion({"cmd.run": "done"})
    minion.jobs.listens.clear()
    waits = asyncio.ensure_future(minion.jobs.run("cmd.run", ("rm x",)))
    await asyncio.sleep(0)
    minion.shadow = True
    minion.jobs.listens.set()
    assert (await waits).lost == IN_SHADOW
    assert not minion.said
