"""Events of a minion: so many at once, so many a second, and its own alone."""

from controller.observe import event_budget
from controller.observe.event_budget import EventBudget
from wire.limits import MinionLimits

LIMITS = MinionLimits(events=3, events_a_second=2.0)


def test_a_minion_has_a_burst_and_a_rate():
    budget = EventBudget(LIMITS)
    assert [budget.take("a", 10.0) for _ in range(4)] == [True, True, True, False]
    assert budget.take("b", 10.0), "others have their own"
    assert [budget.take("a", 11.0) for _ in range(3)] == [True, True, False]
    assert not budget.take("a", 5.0), "a clock that goes back gives nothing"
    assert not budget.take("a", 100.0, cost=4)
    assert budget.take("a", 100.0, cost=3)


def test_full_buckets_are_forgotten(monkeypatch):
    monkeypatch.setattr(event_budget, "_REMEMBERED", 2)
    budget = EventBudget(LIMITS)
    budget.take("a", 0.0)
    assert [budget.take("b", 100.0) for _ in range(3)] == [True] * 3
    budget.take("c", 100.0)
    assert budget._buckets.keys() == {"b", "c"}
    assert not budget.take("b", 100.0)
