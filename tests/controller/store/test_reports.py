"""Reports that are kept: bounded in number, bytes and age."""

from __future__ import annotations

import pytest


@pytest.fixture
def table(store):
    return store.reports


def test_a_report_is_kept_by_its_id(table):
    table.put("a", 1.0, b"one")
    table.put("b", 2.0, b"two")
    table.put("a", 3.0, b"three")
    assert (table.get("a"), table.get("b"), table.get("c")) == (b"three", b"two", None)


@pytest.mark.parametrize(
    ("bounds", "left"),
    [
        ({"count": 2, "size": 100, "before": 0.0}, "cd"),
        ({"count": 9, "size": 25, "before": 0.0}, "cd"),
        ({"count": 9, "size": 5, "before": 0.0}, ""),
        ({"count": 9, "size": 100, "before": 2.0}, "bcd"),
        ({"count": 9, "size": 100, "before": 0.0}, "abcd"),
        ({"count": 1, "size": 5, "before": 9.0}, ""),
    ],
)
def test_the_oldest_go(table, bounds, left):
    for at, name in enumerate("abcd", 1):
        table.put(name, float(at), b"0123456789")
    assert table.prune(**bounds) == 4 - len(left)
    assert [name for name in "abcd" if table.get(name)] == list(left)
