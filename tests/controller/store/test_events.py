"""Events in a real store: kept by their ids, found by what they follow from, and bounded."""

import pytest

from controller.store.events import Events
from reactors.events import Event


@pytest.fixture
def events(store):
    return store.events


def event(number, tag="saltern/x", *, cause=0, minion="web1", time=1.0, **data):
    return Event(id=number, tag=tag, time=time, cause=cause, data={"id": minion, **data}, revision="r")


def test_events_are_read_as_they_were_kept(events):
    assert events.last_id() == 0
    kept = event(5, cause=4, errors=["a.sls:3: no"], seconds=0.5)
    events.add([kept])
    events.add([])
    assert events.get(5) == kept
    assert events.get(4) is None
    assert events.last_id() == 5


def test_what_follows_is_found_by_minion(events):
    events.add([event(1), event(2, cause=1), event(3, cause=1, minion="db1"), event(4, cause=2)])
    assert [each.id for each in events.caused_by([1, 2], "web1")] == [2, 4]
    assert [each.id for each in events.caused_by([1, 2], "web1", "db1")] == [2, 3, 4]
    assert [each.id for each in events.caused_by([1, 2])] == [2, 3, 4]
    assert events.caused_by([9], "web1") == []


def test_several_at_once(events):
    events.add([event(1, "a"), event(2, "b"), event(3, "a", minion="db1"), event(4, "a", minion="db2"), event(5, "a")])
    assert {each.id for each in events.several([1, 3, 9])} == {1, 3}
    assert [each.id for each in events.of_minions({"web1", "db1"}, {"a"}, 10)] == [5, 3, 1]
    assert [each.id for each in events.of_minions({"web1", "db1"}, {"a"}, 2)] == [5, 3]


def test_the_newest_of_some_tags(events):
    events.add([event(1, "saltern/run/1/new"), event(2, "saltern/run/1/started"), event(3, "saltern/run/2/new")])
    assert events.newest("web1", ["saltern/run/%/new", "none"]).id == 3
    assert events.newest("web1", ["saltern/run/1/new"]).id == 1
    assert events.newest("db1", ["%"]) is None


def test_data_that_is_too_large_is_left_out(events):
    events.add([event(1, text="x" * 100_000)])
    assert events.get(1).data == {}


def test_old_ones_and_too_many_are_forgotten(events):
    events.add([event(number, time=float(number)) for number in range(1, 101)])
    assert events.prune(before=10.0, most=1000) == 9
    assert events.prune(before=0.0, most=40) == 56
    assert [events.get(65), events.get(66).id] == [None, 66]
    assert events.prune(before=0.0, most=40) == 0, "there is room for some more now"


def test_the_minion_with_most_events_gives_way(events):
    events.add([event(number, minion=f"web{number % 5}") for number in range(1, 51)])
    events.add([event(number, minion="mallory") for number in range(51, 1051)])
    events.add([event(number, "salt/auth", minion=f"stranger{number}") for number in range(1051, 2051)])
    events.add([event(2051, minion="web1")])
    assert events.prune(before=0.0, most=800) >= 1251
    assert all(events.get(number) for number in (*range(1, 51), 2051)), "of others nothing is lost"
    assert [events.get(51), events.get(1051)] == [None, None]
    assert all(events.get(number) for number in (1050, 2050)), "the newest are kept"
    left = [number for number in range(1, 2052) if events.get(number)]
    assert 690 <= len(left) <= 700
    assert abs(sum(51 <= number <= 1050 for number in left) - sum(1051 <= number <= 2050 for number in left)) <= 1


def test_events_are_counted_once_in_a_while(events, monkeypatch):
    counted = []
    shares = Events._shares
    monkeypatch.setattr(Events, "_shares", lambda self: counted.append(1) or shares(self))
    for start in range(0, 4000, 10):
        events.add([event(number, minion="mallory") for number in range(start + 1, start + 11)])
        events.prune(before=0.0, most=800)
    assert 30 <= len(counted) <= 35
    assert [events.get(3000), events.get(4000).id] == [None, 4000]


@pytest.mark.parametrize(
    ("value", "kept"),
    [(2**70, str(2**70)), ("\ud800", "\\ud800"), ({1: [2**64]}, {1: [str(2**64)]}), (object, "<class 'object'>")],
)
def test_data_that_no_store_can_hold_stands_as_text(events, value, kept):
    events.add([event(1, value=value), event(2)])
    assert events.get(1).data == {"id": "web1", "value": kept}
    assert events.get(2) is not None


def test_data_that_holds_itself_is_left_out(events):
    ring = []
    ring.append(ring)
    events.add([event(1, value=ring)])
    assert events.get(1).data == {}
