"""Ages of open runs are right whenever the clock of the machine is set."""

import time

import pytest

from controller.reconcile.runs.open_runs import OpenTests, RunAges
from controller.store import RunRecord, Store

HOURS = 3600.0
JUMPS = [-2 * HOURS, 2 * HOURS]


def run_at(created, **fields):
    return RunRecord(run_id="20261129000000000001", minion="web1", kind="apply", created=created, **fields)


@pytest.mark.parametrize("jump", JUMPS)
def test_a_run_is_as_old_as_it_is_by_the_clock_that_was_read(jump):
    ages, run = RunAges(time.time), run_at(time.time())
    ages.begun(run)
    now = time.time() + jump
    assert ages.asked_at("web1", run.run_id, run.created, now) == pytest.approx(now, abs=1)


def test_a_run_from_before_the_start_is_as_old_as_the_store_says():
    ages, now = RunAges(time.time), time.time()
    run = run_at(now - 50)
    for seen in (now, now + 2 * HOURS):
        assert ages.asked_at("web1", run.run_id, run.created, seen) == pytest.approx(seen - 50, abs=1)


@pytest.mark.parametrize("jump", JUMPS)
def test_so_is_a_check(jump, tmp_path):
    with Store(f"sqlite:///{tmp_path / 'store.sqlite'}") as store:
        tests = OpenTests(store, time.time)
        tests.begun(run_at(time.time(), test=True))
        now = time.time() + jump
        (seen,) = tests.of("web1", None, now)
        assert seen.asked_at == pytest.approx(now, abs=1)
