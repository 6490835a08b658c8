"""Runs of a stock minion and the disk: what is there before a job is published, and who waits for it."""

import asyncio
import datetime
import os
import threading

import pytest

from gateway.minions.files import KeptContents, StockFiles
from gateway.minions.jobs import StockJobs
from gateway.minions.outbox import ResultOutbox
from gateway.minions.questions import OpenQuestions
from gateway.minions.runs import StockRunPorts, StockRuns
from gateway.publications import Publications
from highstate.desired import Desired
from minion.spool.desired_state import DesiredState
from wire import patch
from wire.messages import Call, DesiredUpdate, ResyncRequired, Run, RunResult

START = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)


@pytest.fixture
def syncing(monkeypatch):
    """Threads that wait for the disk."""
    threads, real = [], os.fsync

    def recorded(number):
        threads.append(threading.get_ident())
        real(number)

    monkeypatch.setattr(os, "fsync", recorded)
    return threads


class Minion:
    """One that answers all with True."""

    def __init__(self, folder):
        self.kept_when_published = []
        self.said = []
        self.ended = asyncio.Event()
        self._runs = folder / "runs"
        self.held = DesiredState(folder)
        self.jobs = StockJobs("web1", Publications(self._publish, lambda: START), lambda: False)
        self.jobs.listens.set()
        self.runs = StockRuns(
            self._runs,
            StockRunPorts(
                jobs=self.jobs,
                files=StockFiles(questions=OpenQuestions(self._say), contents=KeptContents(), in_shadow=lambda: False),
                outbox=ResultOutbox(folder / "results", self._say),
                held=self.held,
                send=self._say,
                in_shadow=lambda: False,
                pillar_of=lambda _: None,
            ),
        )

    def _publish(self, _minions, job):
        self.kept = [path.read_bytes() for path in self._runs.iterdir()]
        self.kept_when_published.append(len(self.kept))
        load = {"jid": job["jid"], "return": True, "retcode": 0}
        asyncio.get_running_loop().call_soon(self.jobs.returned, load)

    def _say(self, message):
        self.said.append(message)
        if isinstance(message, RunResult | ResyncRequired):
            self.ended.set()
        return True


async def test_a_run_is_kept_before_it_is_published_and_no_minion_waits_for_the_disk_of_another(tmp_path, syncing):
    minion = Minion(tmp_path)
    minion.runs.begin(Call(run_id="r1", fun="cmd.run", args=("reboot",)))
    await minion.ended.wait()
    assert minion.kept_when_published == [1]
    assert syncing
    assert threading.get_ident() not in syncing


async def test_for_a_function_that_only_looks_nobody_waits_for_the_disk(tmp_path, syncing):
    minion = Minion(tmp_path)
    minion.runs.begin(Call(run_id="r1", fun="test.ping"))
    await minion.ended.wait()
    assert minion.kept_when_published == [1]
    assert syncing == []


def update(old, new):
    base = "" if old is None else patch.digest(old)
    return DesiredUpdate(generation=1, base=base, digest=patch.digest(new), patch=patch.diff(old, new))


async def test_a_document_that_is_stored_and_not_in_force_yet_is_not_run_for_the_one_before(tmp_path):
    minion = Minion(tmp_path)
    first, second = (Desired(chunks={}, pillar={"a": number}).as_document() for number in (1, 2))
    minion.held.accept(update(None, first))
    assert minion.held.stored(update(first, second)) is not None
    assert minion.held.digest == patch.digest(first)
    minion.runs.begin(Run(run_id="r1", kind="apply", generation=1, digest=patch.digest(first)))
    await minion.ended.wait()
    assert [type(each) for each in minion.said] == [ResyncRequired]


async def test_a_run_that_was_not_kept_whole_when_the_gateway_was_killed_is_not_waited_for(tmp_path):
    """It was not published: the controller asks for it again."""
    minion = Minion(tmp_path)
    minion.runs.begin(Call(run_id="r1", fun="cmd.run", args=("reboot",)))
    await minion.ended.wait()
    folder = tmp_path / "runs"
    (folder / ".r2.4711.new").write_bytes(minion.kept[0])
    minion.runs.resume()
    assert minion.runs.running == ()
    assert not list(folder.glob(".*"))
