"""Which connections have a place."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from controller.cluster.places import Places


def test_the_address_with_most_makes_room_by_its_newest():
    places = Places(4, 4)
    for number in range(4):
        assert places.add("loud", number) == ("", None)
    assert places.add("quiet", 9) == ("connections", 3)
    assert places.has("quiet", 9)
    assert not places.has("loud", 3)
    assert places.add("loud", 4) == ("connections", None), "it has most itself"
    assert not places.has("loud", 4)


def test_an_address_has_a_number_of_its_own():
    places = Places(10, 2)
    assert [places.add("one", number)[0] for number in range(3)] == ["", "", "address-connections"]
    assert places.add("two", 7) == ("", None)
    places.remove("one", 0)
    assert places.add("one", 3) == ("", None)


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 20), st.booleans())))
def test_there_are_never_more_than_may_be(steps):
    places = Places(6, 4)
    for address, item, adds in steps:
        if adds and not any(places.has(each, item) for each in "abc"):
            places.add(address, item)
        else:
            places.remove(address, item)
        assert len(places) == len(places.all()) <= 6
        assert max(sum(places.has(each, one) for one in range(21)) for each in "abc") <= 4
