"""The grains of an agent: collected by a real child, kept for the next start, sent when they have changed."""

from __future__ import annotations

import os
import select

import pytest

from minion.agent.grains import GrainsKeeper
from minion.processes import fork
from minion.spool.grains import KEPT, kept_grains
from minion.spool.grains_request import request_collection

LEAST = {"id": "web1"}


@pytest.fixture
def keeper(tmp_path):
    def make(collect):
        return GrainsKeeper(tmp_path, collect, lambda work: fork(work, umask=0o077), least=LEAST)

    return make


def collected(keeper):
    changed = False
    while keeper.readers():
        select.select(keeper.readers(), [], [], 20)
        changed |= keeper.receive()
    return changed


def test_the_first_collection_is_waited_for_and_kept(keeper, tmp_path):
    first = keeper(lambda: {"id": "web1", "os": "Debian"})
    assert (first.grains, first.collected) == (LEAST, False)
    first.first()
    assert (first.grains, first.collected) == ({"id": "web1", "os": "Debian"}, True)
    again = keeper(dict)
    assert (again.grains, again.collected) == (first.grains, True)
    assert (tmp_path / KEPT).stat().st_mode & 0o777 == 0o600


def test_only_a_change_is_reported(keeper):
    values = iter([{"n": 1}, {"n": 2}])
    one = keeper(lambda: values_now[0])
    values_now = [next(values)]
    one.refresh()
    assert collected(one)
    one.refresh()
    assert not collected(one)
    values_now[0] = next(values)
    one.refresh()
    assert collected(one)
    assert one.grains == {"n": 2}


def test_a_collection_that_fails_leaves_the_grains(keeper, caplog):
    one = keeper(lambda: 1 / 0)
    one.first()
    assert (one.grains, one.collected) == (LEAST, False)
    assert "event=grains_not_collected" in caplog.text


def test_the_pid_is_the_agents(keeper):
    one = keeper(lambda: {"pid": os.getpid()})
    one.first()
    assert one.grains == {"pid": os.getpid()}


def test_one_collection_at_a_time(keeper):
    one = keeper(lambda: {"n": 1})
    one.refresh()
    readers = one.readers()
    one.refresh()
    assert one.readers() == readers
    collected(one)


def test_a_request_is_taken_once(keeper, tmp_path):
    one = keeper(dict)
    assert not one.take_request()
    request_collection(tmp_path)
    assert one.take_request()
    assert not one.take_request()


def test_kept_grains_that_cannot_be_read_count_as_none(tmp_path):
    (tmp_path / KEPT).write_bytes(b"\xc1")
    assert kept_grains(tmp_path) == {}
