from __future__ import annotations

import pytest

from minion.spool.journal import RunFolders
from minion.spool.outbox import IN_FLIGHT, KEPT, SEND_AGAIN_AFTER, Outbox
from minion.spool.run_events import RunEventsOutbox
from wire.messages import Call, Preview, RunResult


@pytest.fixture
def folders(tmp_path):
    return RunFolders(tmp_path)


def finish(folders, outbox, run_id, kind="call"):
    result = RunResult(run_id=run_id, kind=kind, generation=0, digest="", outcome="ok", value=run_id)
    folders.create(Call(run_id=run_id, fun="f")).finish(result)
    outbox.add(result)
    return result


def due(outbox, now=0.0):
    return [result.run_id for result in outbox.due(now)]


def test_oldest_first_until_acknowledged_over_a_restart(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    for run_id in ("c", "a", "b"):
        finish(folders, outbox, run_id)
    assert due(outbox) == ["c", "a", "b"]
    outbox.sent("c", 0.0)
    assert due(outbox, 1.0) == ["a", "b"]
    assert due(outbox, SEND_AGAIN_AFTER) == ["c", "a", "b"]
    assert outbox.acknowledge("a")
    assert not outbox.acknowledge("a")

    again = Outbox(tmp_path, folders, RunEventsOutbox())

    assert due(again) == ["c", "b"]
    assert "a" not in again


def test_what_is_not_acknowledged_is_sent_again_less_and_less_often(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    finish(folders, outbox, "a")
    now, waits = 0.0, []
    for _ in range(8):
        outbox.sent("a", now)
        waits.append(outbox.next_due(now) - now)
        assert due(outbox, now + waits[-1] - 0.1) == []
        now += waits[-1]
        assert due(outbox, now) == ["a"]
    assert waits == [30.0, 60.0, 120.0, 240.0, 480.0, 600.0, 600.0, 600.0]
    outbox.reconnected()
    assert due(outbox, now) == ["a"], "on another connection at once"


def test_everything_is_due_after_a_reconnect(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    finish(folders, outbox, "a")
    outbox.sent("a", 0.0)
    assert outbox.next_due(5.0) == SEND_AGAIN_AFTER
    outbox.reconnected()
    assert outbox.next_due(5.0) == 5.0
    assert due(outbox) == ["a"]


def test_an_acknowledged_result_is_sent_again_when_its_run_comes_again(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    finish(folders, outbox, "a")
    outbox.acknowledge("a")
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    assert not outbox.send_again("b")
    assert outbox.send_again("a")
    assert [r.value for r in outbox.due(0.0)] == ["a"]
    assert outbox.acknowledge("a")
    assert outbox.send_again("a")


def test_only_the_last_are_kept(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    for number in range(KEPT + 3):
        finish(folders, outbox, f"r{number}")
        outbox.acknowledge(f"r{number}")
    assert len(list((tmp_path / "kept").iterdir())) == KEPT
    assert not outbox.send_again("r0")
    assert outbox.send_again(f"r{KEPT + 2}")
    assert not list((tmp_path / "runs").iterdir()) or len(list((tmp_path / "runs").iterdir())) == 1


def test_the_newest_drift_result_replaces_the_older(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    finish(folders, outbox, "d1", kind="drift")
    finish(folders, outbox, "a")
    finish(folders, outbox, "d2", kind="drift")
    assert due(outbox) == ["a", "d2"]
    assert due(Outbox(tmp_path, folders, RunEventsOutbox())) == ["a", "d2"]


def test_few_are_on_their_way_at_a_time(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    for number in range(IN_FLIGHT + 5):
        finish(folders, outbox, f"r{number:02}")
    first = due(outbox)
    assert len(first) == IN_FLIGHT
    for run_id in first:
        outbox.sent(run_id, 0.0)
    assert due(outbox, 1.0) == []
    outbox.acknowledge(first[0])
    assert due(outbox, 1.0) == [f"r{IN_FLIGHT:02}"]


def test_a_damaged_result_is_dropped(tmp_path, folders, caplog):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    finish(folders, outbox, "a")
    (folders.of("a").path / "result").write_bytes(b"\xc1")
    assert due(Outbox(tmp_path, folders, RunEventsOutbox())) == []
    assert "event=result_unreadable" in caplog.text


def test_an_acknowledgement_that_was_cut_off_is_completed(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    finish(folders, outbox, "a")
    (folders.of("a").path / "result").rename(tmp_path / "kept" / "a")
    assert due(Outbox(tmp_path, folders, RunEventsOutbox())) == []
    assert not folders.of("a").path.exists()


def test_a_full_window_is_not_due_before_its_time(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    for number in range(IN_FLIGHT + 1):
        finish(folders, outbox, f"r{number:02}")
    assert outbox.next_due(1.0) == 1.0
    for run_id in due(outbox):
        outbox.sent(run_id, 0.0)
    assert outbox.next_due(1.0) == SEND_AGAIN_AFTER


def test_nothing_of_a_preview_is_kept(tmp_path, folders):
    outbox = Outbox(tmp_path, folders, RunEventsOutbox())
    result = RunResult(run_id="p", kind="preview", generation=0, digest="d", outcome="ok")
    folders.create(Preview(run_id="p", base="", digest="d", patch=[]), b"document").finish(result)
    outbox.add(result)
    finish(folders, outbox, "a")
    assert outbox.acknowledge("p")
    assert outbox.acknowledge("a")
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["a"]
    assert list((tmp_path / "runs").iterdir()) == []


# --- of several controllers

BOTH = ("a", "b")


@pytest.fixture
def of_both(tmp_path, folders):
    return Outbox(tmp_path, folders, RunEventsOutbox(), BOTH)


def finish_for(folders, outbox, run_id, controller, text="v", kind="call"):
    result = RunResult(run_id=run_id, kind=kind, generation=0, digest="", outcome="ok", value=text)
    folders.create(Call(run_id=run_id, fun="f"), controller=controller).finish(result)
    outbox.add(result, controller)


def due_of(outbox, controllers, now=0.0, full=()):
    return [result.run_id for result in outbox.due(now, controllers, full)]


def test_a_result_waits_for_the_controller_that_asked(tmp_path, folders, of_both):
    for run_id, controller in (("1", "a"), ("2", "b"), ("3", "a"), ("own", "")):
        finish_for(folders, of_both, run_id, controller)
    assert due_of(of_both, ["b"]) == ["2", "own"]
    assert due_of(of_both, BOTH) == ["1", "2", "3", "own"]
    assert of_both.waiting_for() == {"a": 2, "b": 1}
    of_both.sent("1", 0.0)
    of_both.sent("2", 0.0)
    of_both.reconnected("b")
    assert due_of(of_both, BOTH) == ["2", "3", "own"], "what was sent to the other is on its way"
    assert not of_both.acknowledge("1", "b"), "another controller does not take it"
    assert of_both.acknowledge("1", "a")
    assert not of_both.acknowledge("1", "a")
    assert of_both.acknowledge("own", "b"), "anybody's"

    again = Outbox(tmp_path, folders, RunEventsOutbox(), BOTH)
    assert due_of(again, BOTH) == ["2", "3"]
    assert [again.owner(run_id) for run_id in ("2", "3")] == ["b", "a"]


def test_a_controller_that_takes_nothing_delays_no_other(folders, of_both):
    for number in range(IN_FLIGHT + 2):
        finish_for(folders, of_both, f"a{number}", "a")
    finish_for(folders, of_both, "b0", "b")
    first = due_of(of_both, BOTH)
    assert first == [*(f"a{number}" for number in range(IN_FLIGHT)), "b0"]
    for run_id in first[:-1]:
        of_both.sent(run_id, 0.0)
    assert due_of(of_both, BOTH, 1.0) == ["b0"]
    assert of_both.next_due(1.0, BOTH) == 1.0
    assert due_of(of_both, BOTH, SEND_AGAIN_AFTER, full={"a"}) == ["b0"], "its send queue is full"
    of_both.sent("b0", 1.0)
    assert of_both.next_due(2.0, BOTH) == SEND_AGAIN_AFTER
    assert of_both.next_due(2.0, ["b"]) == 1.0 + SEND_AGAIN_AFTER
    assert of_both.next_due(2.0, []) == float("inf")


def test_who_asks_for_a_result_of_another_gets_it_when_that_one_has_it(folders, of_both):
    finish_for(folders, of_both, "1", "a")
    assert of_both.send_again("1", "b"), "it is known, so that it does not run again"
    assert due_of(of_both, ["b"]) == []
    of_both.acknowledge("1", "a")
    assert of_both.send_again("1", "b")
    assert due_of(of_both, BOTH) == ["1"]
    assert of_both.owner("1") == "b"


def test_so_many_results_wait_for_controllers_that_are_away(folders, of_both, monkeypatch, caplog):
    monkeypatch.setattr("minion.spool.outbox.MOST_AWAY", 2)
    for number in range(4):
        finish_for(folders, of_both, f"a{number}", "a")
        finish_for(folders, of_both, f"b{number}", "b")
    of_both.drop_too_many(["b"])
    assert of_both.waiting_for() == {"a": 2, "b": 4}
    assert due_of(of_both, ["a"]) == ["a2", "a3"]
    assert caplog.text.count("event=result_dropped") == 2
    monkeypatch.setattr("minion.spool.outbox.MOST_AWAY_BYTES", folders.of("a3").result_bytes())
    of_both.drop_too_many(["b"])
    assert due_of(of_both, ["a"]) == ["a3"]
    of_both.drop_too_many(BOTH)
    assert len(of_both) == 5, "nobody is away"


def test_results_for_a_controller_that_is_configured_no_more_are_dropped_and_said(tmp_path, folders, of_both, caplog):
    finish_for(folders, of_both, "1", "a")
    finish_for(folders, of_both, "2", "b")
    again = Outbox(tmp_path, folders, RunEventsOutbox(), ("b", "c"))
    assert due_of(again, ["b", "c"]) == ["2"]
    assert "event=result_dropped run_id=1 controller=a" in caplog.text
    alone = Outbox(tmp_path, folders, RunEventsOutbox())
    assert due_of(alone, ()) == ["2"], "one controller is left, and gets what there is"


def test_what_is_for_one_of_a_cluster_goes_to_another(folders, of_both):
    for run_id, controller in (("1", "a"), ("2", "b")):
        finish_for(folders, of_both, run_id, controller)
    of_both.sent("1", 0.0)
    of_both.moved({"a"}, "b")
    assert due_of(of_both, ["b"]) == ["1", "2"], "at once: what was sent is lost with its connection"
    assert of_both.waiting_for() == {"b": 2}
    assert of_both.acknowledge("1", "b")
    assert due_of(of_both, ["a"]) == []
