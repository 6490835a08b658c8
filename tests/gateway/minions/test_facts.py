"""What templates ask of a stock minion: what it may be asked, and modules of the tree that it has not got yet."""

import asyncio
import datetime
import json

import pytest

from gateway.minions.facts import SYNC_PAUSE, StockFacts
from gateway.minions.jobs import StockJobs
from gateway.publications import Publications
from wire.messages import FactQuery, FactRequest


class Minion:
    """A minion that has a module of the tree once it was synced, if the tree has it."""

    def __init__(self, *, in_tree=True):
        self.said = []
        self.now = 0.0
        self._in_tree, self._synced = in_tree, False
        publications = Publications(self._publish, lambda: datetime.datetime.now(datetime.UTC))
        self._jobs = StockJobs("web1", publications, lambda: False)
        self._facts = StockFacts(self._jobs, lambda: self.now)

    async def ask(self, fun, *args, allowed=("own.*",), **kwargs):
        question = FactQuery(fun=fun, asked=json.dumps([list(args), kwargs]))
        answers = await self._facts.answers(FactRequest(request=1, questions=(question,), allowed=allowed))
        return answers.answers[0]

    def _publish(self, _minions, job):
        self.said.append(job["fun"])
        load = {"jid": job["jid"], "return": self._value(job), "success": self._has(job["fun"]), "retcode": 0}
        asyncio.get_running_loop().call_soon(self._jobs.returned, load)

    def _has(self, fun):
        return not fun.startswith("own.") or self._synced

    def _value(self, job):
        if job["fun"] == "saltutil.sync_all":
            self._synced = self._in_tree
        return job["arg"] if self._has(job["fun"]) else f"'{job['fun']}' is not available."


async def test_a_function_is_asked_with_its_arguments():
    minion = Minion()
    assert (await minion.ask("pkg.version", "nginx", fromrepo="x")).value == [
        "nginx",
        {"__kwarg__": True, "fromrepo": "x"},
    ]
    assert minion.said == ["pkg.version"]


async def test_what_may_not_be_asked_is_not():
    minion = Minion()
    assert "only looks" in (await minion.ask("cmd.run", "reboot")).error
    assert minion.said == []


async def test_a_module_of_the_tree_is_given_to_a_minion_that_has_it_not():
    minion = Minion()
    assert (await minion.ask("own.text", "a")).value == ["a"]
    assert minion.said == ["own.text", "saltutil.sync_all", "own.text"]


@pytest.mark.parametrize(("later", "synced"), [(SYNC_PAUSE - 1, 1), (SYNC_PAUSE, 2)])
async def test_a_module_that_is_nowhere_is_looked_for_now_and_then(later, synced):
    minion = Minion(in_tree=False)
    assert "not available" in (await minion.ask("own.text")).error
    minion.now = later
    assert "not available" in (await minion.ask("own.text")).error
    assert minion.said.count("saltutil.sync_all") == synced
