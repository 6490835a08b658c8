"""Runs of calls: many at once, those that are open kept ready, results as they are packed."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from controller.store import RunRecord
from controller.store.run_tables import open_calls
from controller.store.run_tables.call_runs import StoredCallEnd
from controller.store.run_tables.packed_results import packed_result, unpacked_result


def runs(count, **changed):
    made = [
        RunRecord(run_id=f"{10**19 + number}", minion=f"m{number}", kind="call", created=1.0, fun="f", job=f"{10**19}")
        for number in range(count)
    ]
    return [replace(each, **changed) for each in made]


def ended(call, value):
    values = {"outcome": "ok", "started": 1.0, "finished": 2.0, "seconds": 1.0, "summary": "", "ending": ""}
    return StoredCallEnd(call=call, result=packed_result(value), **values)


def test_calls_are_found_as_the_store_has_them_whether_kept_ready_or_not(store):
    made = store.call_runs.create(runs(3))
    asked = [each.run.run_id for each in made]
    assert store.call_runs.find(asked) == {each.run.run_id: each for each in made}, "read"
    store.call_runs.remember(made)
    assert store.call_runs.find([*asked, "unknown"]) == {each.run.run_id: each for each in made}


def test_one_that_changed_is_read_again(store):
    made = store.call_runs.create(runs(4))
    store.call_runs.remember(made)
    ids = [each.run.run_id for each in made]
    store.runs.start(ids[0], 5.0)
    store.runs.finish(ids[1], "ok", finished=6.0)
    store.call_runs.write([(made[2], 7.0)], [ended(made[3], {"value": True})])
    found = store.call_runs.find(ids)
    assert [found[each].run.state for each in ids] == ["started", "finished", "started", "finished"]
    assert store.runs.result(ids[3]) == {"value": True}


def test_runs_that_have_ended_when_they_are_made_are_not_open(store):
    assert store.call_runs.create(runs(2, state="finished", outcome="unreachable")) == []


def test_no_more_are_kept_ready_than_may_be(store, monkeypatch):
    monkeypatch.setattr(open_calls, "MOST_OPEN", 2)
    made = store.call_runs.create(runs(5))
    store.call_runs.remember(made)
    assert list(store.call_runs.open_calls.of([each.run.run_id for each in made])) == [
        each.run.run_id for each in made[3:]
    ]


@given(st.dictionaries(st.text(), st.integers(-(2**40), 2**40) | st.text(max_size=400)))
def test_a_result_is_unpacked_as_it_was(result):
    assert unpacked_result(packed_result(result)) == result
