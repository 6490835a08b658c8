"""Which workers may be used, by what the scheduler tells."""

from __future__ import annotations

import pytest

from controller.compilation.cluster.worker_table import SILENT_SECONDS, SeenWorker, WorkerChanges, WorkerTable


class Times:
    """Both clocks."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def clock(self):
        return 1_000_000.0 + self.now


@pytest.fixture
def times():
    return Times()


@pytest.fixture
def table(times):
    return WorkerTable(times.monotonic, times.clock)


def seen(beat=0.0, threads=1, name="w"):
    return SeenWorker(name=name, threads=threads, last_seen=beat)


def ready(table, **workers):
    table.see(workers)
    for address in workers:
        table.answered(address)


def test_a_worker_is_used_when_it_has_answered(table):
    assert table.see({"a": seen()}) == WorkerChanges(new=("a",))
    assert (table.lanes(), table.place(0)) == (0, None)
    assert table.answered("a")
    assert (table.lanes(), table.place(0), table.is_there("a")) == (1, "a", True)
    assert table.see({"a": seen()}) == WorkerChanges()


def test_lanes_are_spread_and_stay(table):
    ready(table, a=seen(threads=2), b=seen(threads=1))
    placed = [table.place(lane) for lane in range(3)]
    assert sorted(placed) == ["a", "a", "b"]
    assert [table.place(lane) for lane in range(3)] == placed
    table.see({"a": seen(threads=2)})
    assert {table.place(lane) for lane in range(2)} == {"a"}


def test_without_a_heartbeat_it_is_not_used_until_it_has_one(table, times):
    ready(table, a=seen(1.0), b=seen(1.0))
    times.now += SILENT_SECONDS + 1
    assert table.see({"a": seen(1.0), "b": seen(2.0)}) == WorkerChanges(silent=("a",))
    assert (table.lanes(), table.place(0), table.is_there("a")) == (1, "b", False)
    assert table.counts() == {"ready": 1, "silent": 1, "refused": 0}
    [silent, _] = table.standings()
    assert (silent.state, silent.reason) == ("silent", "the scheduler has had no heartbeat of it for 16 s")
    assert table.see({"a": seen(1.0), "b": seen(3.0)}) == WorkerChanges(), "it is told once"
    assert table.see({"a": seen(4.0), "b": seen(4.0)}) == WorkerChanges(woken=("a",))
    assert table.lanes() == 2


def test_a_controller_that_slept_takes_nobody_for_frozen(table, times):
    ready(table, a=seen(1.0))
    times.now += 1000
    assert table.see({"a": seen(1001.0)}) == WorkerChanges()


def test_one_that_is_refused_is_asked_again_when_its_time_has_come(table, times):
    table.see({"a": seen(), "b": seen()})
    assert table.refuse("a", "it does not answer", 30.0)
    assert table.refuse("b", "another version")
    assert not table.refuse("c", "it is gone")
    assert table.counts() == {"ready": 0, "silent": 0, "refused": 2}
    assert table.see({"a": seen(), "b": seen()}) == WorkerChanges()
    times.now += 31
    assert table.see({"a": seen(), "b": seen()}) == WorkerChanges(new=("a",))
    assert [(each.state, each.reason) for each in table.standings()] == [("asked", ""), ("refused", "another version")]


def test_one_that_is_suspended_is_used_later(table, times):
    ready(table, a=seen())
    table.suspend("a", 60.0, "it has not answered")
    table.suspend("a", 3.0, "a shorter time does not end a longer one")
    assert (table.lanes(), table.place(0)) == (0, None)
    [worker] = table.standings()
    assert (worker.state, worker.reason, worker.since) == ("suspended", "it has not answered", times.clock())
    times.now += 60
    assert (table.lanes(), table.standings()[0].state) == (1, "ready")


def test_what_it_has_compiled_is_told_when_it_is_gone(table):
    ready(table, a=seen(name="old"))
    table.compiled("a")
    assert table.see({}) == WorkerChanges(gone=("a",))
    table.compiled("a")
    table.compiled("b")
    [gone] = table.standings()
    assert (gone.name, gone.state, gone.minions) == ("old", "gone", 2)
    table.see({"a": seen(name="new")})
    assert [(each.name, each.state, each.minions) for each in table.standings()] == [("new", "asked", 0)]


def test_what_is_remembered_of_workers_that_are_gone_is_bounded(table):
    for number in range(200):
        table.see({f"tcp://{number}": seen()})
    assert len(table.standings()) == 51
