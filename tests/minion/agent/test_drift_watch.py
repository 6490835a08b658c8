"""When what was touched is checked: at once, and less and less often where it is touched all the time."""

import itertools

import pytest

from minion.agent.drift_watch import LONGEST_PAUSE, DriftWatch
from minion.spool.desired_state import DesiredState

NEVER = float("inf")


@pytest.fixture
def document(tmp_path):
    document = DesiredState(tmp_path)
    document.digest, document.generation = "d1", 3
    return document


def test_touched_states_are_checked_at_once_but_not_beside_a_run(document):
    watch = DriftWatch("web1")
    assert watch.due_at("d1", busy=False) == NEVER
    watch.touched(["b", "a"], "d1")
    assert watch.due_at("d1", busy=False) <= 100.0
    assert watch.due_at("d1", busy=True) == NEVER
    assert watch.due_at("d2", busy=False) == NEVER
    run = watch.take(document, 100.0, 1.0)
    assert (run.kind, run.test, run.keys, run.digest) == ("drift", True, ("a", "b"), "d1")
    assert watch.due_at("d1", busy=False) == NEVER


def test_what_is_touched_all_the_time_is_checked_less_and_less_often(document):
    watch, now, times = DriftWatch("web1"), 100.0, []
    for _ in range(14):
        watch.touched(["a"], "d1")
        now = max(now, watch.due_at("d1", busy=False))
        times.append(now)
        watch.take(document, now, 1.0)
    pauses = [later - earlier for earlier, later in itertools.pairwise(times)]
    assert pauses == sorted(pauses)
    assert pauses[-1] == LONGEST_PAUSE
    now += 10 * LONGEST_PAUSE
    watch.touched(["a"], "d1")
    assert watch.due_at("d1", busy=False) <= now
    watch.take(document, now, 1.0)
    watch.touched(["a"], "d1")
    assert watch.due_at("d1", busy=False) < now + 1.0, "it was quiet for long enough to be the first again"


def test_the_whole_is_checked_once_what_was_found_is_in_order_by_other_hands(document):
    watch = DriftWatch("web1")
    watch.ended("driftwatch-web1-1", "ok", 1.0, changed_machine=False)
    watch.ended("driftwatch-web1-2", "pending", 1.0, changed_machine=False)
    assert not watch.whole_wanted
    watch.ended("driftwatch-web1-3", "ok", 1.0, changed_machine=False)
    assert watch.whole_wanted
    watch.whole_wanted = False
    watch.ended("driftwatch-web1-4", "pending", 1.0, changed_machine=False)
    watch.ended("20260101", "changed", 1.0, changed_machine=True)
    watch.ended("driftwatch-web1-5", "ok", 1.0, changed_machine=False)
    assert not watch.whole_wanted


def test_after_a_find_the_next_check_waits_for_the_heal(document):
    watch = DriftWatch("web1")
    watch.touched(["a"], "d1")
    watch.take(document, 100.0, 1.0)
    watch.touched(["a"], "d1")
    watch.ended("driftwatch-web1-2", "pending", 100.3, changed_machine=False)
    assert watch.due_at("d1", busy=False) > 102.0
    watch.ended("20260101", "changed", 100.5, changed_machine=True)
    assert watch.due_at("d1", busy=False) == 100.5
