"""Queues in the store: first in, first out, each item once."""

import pytest


@pytest.fixture
def queues(store):
    return store.queues


def test_items_come_out_as_they_went_in(queues):
    assert queues.insert("q", ["a", {"b": 1, "c": [2]}, 3]) is None
    assert queues.insert("other", ["a"]) is None
    assert queues.names() == ["other", "q"]
    assert queues.pop("q", 2) == ["a", {"b": 1, "c": [2]}]
    assert queues.items("q") == [3]
    assert queues.pop("q", None) == [3]
    assert (queues.length("q"), queues.names()) == (0, ["other"])


def test_an_item_is_in_a_queue_once_and_all_or_none_are_added(queues):
    assert queues.insert("q", [{"a": 1, "b": 2}]) is None
    assert queues.insert("q", ["new", {"b": 2, "a": 1}]) == {"b": 2, "a": 1}
    assert queues.insert("q", ["twice", "twice"]) == "twice"
    assert queues.items("q") == [{"a": 1, "b": 2}]
    assert queues.delete("q", [{"b": 2, "a": 1}, "absent"]) == 1
    assert queues.names() == []
