"""When a bad condition is healed, escalated and resolved."""

from __future__ import annotations

from minion.beacons.configured import Ensure
from minion.beacons.ensuring import LONGEST_BACKOFF, Ensuring, Step

HEAL, ESCALATE, RESOLVE = Step.HEAL, Step.ESCALATE, Step.RESOLVE


def test_it_is_tried_with_back_off_escalated_once_and_resolved():
    one = Ensuring(Ensure(tries=2, backoff=10.0))
    assert one.observe(0.0, bad=False) == []
    assert one.observe(1.0, bad=True) == [HEAL]
    assert one.observe(2.0, bad=True) == []
    assert one.observe(11.0, bad=True) == [HEAL]
    assert one.observe(30.0, bad=True) == []
    assert one.observe(31.0, bad=True) == [ESCALATE, HEAL]
    assert one.observe(71.0, bad=True) == [HEAL]
    assert one.tries == 4
    assert one.seconds(71.0) == 70.0
    assert one.observe(72.0, bad=False) == [RESOLVE]
    assert one.observe(73.0, bad=False) == []
    assert one.observe(80.0, bad=True) == [HEAL], "a new condition, from the beginning"


def test_the_back_off_has_an_end():
    one = Ensuring(Ensure(tries=1, backoff=1000.0))
    times = []
    now = 0.0
    while len(times) < 6:
        if HEAL in one.observe(now, bad=True):
            times.append(now)
        now += 50.0
    assert times[-1] - times[-2] == LONGEST_BACKOFF
