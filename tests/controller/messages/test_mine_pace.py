"""Changes of a mine: so many at once, then now and then, and the newest values count."""

from __future__ import annotations

import pytest

from controller.messages.mine_pace import MinePace
from wire.limits import MinionLimits
from wire.messages import MineEntry


def values(number):
    return {"addr": MineEntry(value=number)}


@pytest.fixture
def refused():
    return []


@pytest.fixture
def pace(refused):
    return MinePace(MinionLimits(mine_changes=2, mine_changes_a_second=0.5), refused.append)


def change(pace, minion, number, now):
    if not pace.may_change(minion, values(number), now):
        return False
    pace.changed(minion)
    return True


def test_the_newest_values_count_later(pace, refused):
    assert [change(pace, "web1", number, 10.0) for number in range(5)] == [True, True, False, False, False]
    assert change(pace, "db1", 1, 10.0), "of others nothing is delayed"
    assert refused == ["mine-changes"] * 3
    assert pace.due(11.0) == []
    assert pace.due(12.0) == [("web1", values(4))]
    assert pace.due(12.0) == [], "they are given once"


def test_values_that_come_in_time_take_the_place_of_those_that_wait(pace):
    assert [change(pace, "web1", number, 10.0) for number in range(3)] == [True, True, False]
    assert change(pace, "web1", 9, 20.0)
    assert pace.due(30.0) == []


def test_what_is_not_new_costs_nothing(pace):
    assert all(pace.may_change("web1", values(1), 10.0) for _ in range(10))


def test_a_minion_that_has_gone_sends_its_mine_again(pace):
    assert [change(pace, "web1", number, 10.0) for number in range(3)] == [True, True, False]
    pace.forget("web1")
    assert pace.due(100.0) == []
