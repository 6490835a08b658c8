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
