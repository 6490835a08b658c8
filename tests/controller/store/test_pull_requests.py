"""Records of pull requests."""

from controller.store import pull_requests
from controller.store.pull_requests import PullRecord


def record(number, **fields):
    return PullRecord(forge="hub", project="org/states", number=number, **fields)


def test_records_and_reports(store):
    table = store.pull_requests
    assert table.get("hub", "org/states", 1) is None
    table.put(record(1, head="a"), 1.0)
    table.put_report("hub", "org/states", 1, b"report")
    table.put(record(1, head="b"), 2.0)
    table.put(record(2, state="closed"), 3.0)
    assert table.get("hub", "org/states", 1) == record(1, head="b")
    assert table.report("hub", "org/states", 1) == b"report"
    assert table.report("hub", "org/states", 2) is None
    assert [each.number for each in table.all()] == [2, 1]
    assert [each.number for each in table.all(unsettled_only=True)] == [1]


def test_settled_ones_are_forgotten(store, monkeypatch):
    monkeypatch.setattr(pull_requests, "_KEPT", 3)
    for number in range(1, 11):
        store.pull_requests.put(record(number, state="closed" if number > 2 else "open"), float(number))
    assert [each.number for each in store.pull_requests.all()] == [10, 9, 8, 2, 1]
