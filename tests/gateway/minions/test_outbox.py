"""Results that wait for the controller: kept through the gateway's end at once, through a power loss when they wait."""

import os
from pathlib import Path

import pytest

from gateway.minions.outbox import ResultOutbox
from wire.messages import RunResult


def result(run_id):
    return RunResult(run_id=run_id, kind="call", generation=0, digest="", outcome="ok", value=True)


class Disk:
    """What is synced, by name."""

    def __init__(self, monkeypatch):
        self.synced = []
        self._real = os.fsync
        monkeypatch.setattr(os, "fsync", self._sync)

    def _sync(self, number):
        self.synced.append(str(Path(f"/proc/self/fd/{number}").readlink()))
        self._real(number)


@pytest.fixture
def disk(monkeypatch):
    return Disk(monkeypatch)


def test_a_result_outlasts_the_gateway_and_is_said_again(tmp_path):
    ResultOutbox(tmp_path, lambda _: False).add(result("r1"), 0.0)
    said = []
    again = ResultOutbox(tmp_path, lambda each: said.append(each.run_id) or True)
    again.say_all(0.0)
    assert said == ["r1"]
    again.acknowledged("r1")
    assert not list(tmp_path.iterdir())


async def test_nothing_is_synced_that_was_acknowledged(tmp_path, disk):
    outbox = ResultOutbox(tmp_path, lambda _: True)
    outbox.add(result("r1"), 0.0)
    outbox.acknowledged("r1")
    await outbox.make_durable()
    assert disk.synced == []


async def test_what_waits_is_synced_once(tmp_path, disk):
    outbox = ResultOutbox(tmp_path, lambda _: False)
    outbox.add(result("r1"), 0.0)
    assert disk.synced == []
    await outbox.make_durable()
    [path] = tmp_path.iterdir()
    assert disk.synced == [str(path), str(tmp_path)]
    await outbox.make_durable()
    assert len(disk.synced) == 2


def test_what_a_power_loss_has_emptied_goes(tmp_path):
    ResultOutbox(tmp_path, lambda _: False).add(result("r1"), 0.0)
    [path] = tmp_path.iterdir()
    path.write_bytes(b"")
    assert "r1" not in ResultOutbox(tmp_path, lambda _: False)
    assert not list(tmp_path.iterdir())
