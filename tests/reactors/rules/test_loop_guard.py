"""Reactions that set each other off: by the chain of causes, and by rate."""

from reactors.events import Event
from reactors.rules.loop_guard import LoopBounds, LoopGuard


def event(number, *, cause=0, minion="web1"):
    return Event(id=number, tag="custom/x", time=0.0, data={"id": minion}, cause=cause)


def test_a_chain_of_reactions_is_refused_at_its_length_and_named():
    guard = LoopGuard(LoopBounds(depth=2))
    first = event(1)
    assert guard.follow(first) == ()
    assert not guard.refusal("a", first, (), 0.0)
    guard.reacted(2, ("a",))
    through_a_job = event(4, cause=2)
    assert guard.follow(through_a_job) == ("a",)
    second = event(5, cause=4)
    assert guard.follow(second) == ("a",)
    assert not guard.refusal("b", second, ("a",), 0.0)
    guard.reacted(6, ("a", "b"))
    third = event(7, cause=6)
    assert "a -> b" in guard.refusal("a", third, guard.follow(third), 0.0)


def test_an_event_of_another_cause_has_no_chain():
    guard = LoopGuard()
    guard.reacted(2, ("a",))
    assert guard.follow(event(3, cause=1)) == ()


def test_one_rule_about_one_minion_fires_so_often_in_a_minute():
    guard = LoopGuard(LoopBounds(firings=3))
    answers = [guard.refusal("a", event(number), (), 10.0) for number in range(5)]
    assert [bool(each) for each in answers] == [False, False, False, True, True]
    assert "3 times in a minute about web1" in answers[3]
    assert not guard.refusal("b", event(6), (), 10.0)
    assert not guard.refusal("a", event(7, minion="web2"), (), 10.0)
    assert not guard.refusal("a", event(8), (), 70.0)


def test_a_refusal_is_told_once_in_a_minute():
    guard = LoopGuard(LoopBounds(firings=1))
    told = []
    for number, now in enumerate((0.0, 1.0, 2.0, 61.0, 62.0)):
        if guard.refusal("a", event(number), (), now):
            told.append(guard.is_news("a", event(number)))
    assert told == [True, False, True]
