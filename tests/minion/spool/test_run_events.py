"""Events on their way to the controller: order, one message at a time, again until they are acknowledged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from minion.spool.journal import RunFolder, RunFolders
from minion.spool.outbox import Outbox
from minion.spool.run_events import LOOK_AGAIN, SEND_AGAIN_AFTER, RunEventsOutbox
from minion.worker.sent_events import SentEvents
from wire.messages import Call, RunEvents, RunEventsAck, RunResult


@pytest.fixture
def folders(tmp_path: Path) -> RunFolders:
    return RunFolders(tmp_path)


def folder_of(folders: RunFolders, run_id: str) -> RunFolder:
    found = folders.of(run_id)
    found.path.mkdir(exist_ok=True)
    return found


def fire(folders: RunFolders, run_id: str, *tags: str, **data: Any) -> None:
    events = SentEvents("web1", run_id, folder_of(folders, run_id), lambda: None)
    for tag in tags:
        assert events.fire(tag, data) == ""


def following(folders: RunFolders, *run_ids: str) -> RunEventsOutbox:
    outbox = RunEventsOutbox()
    for run_id in run_ids:
        outbox.follow(run_id, folder_of(folders, run_id).events)
    return outbox


def send(outbox: RunEventsOutbox, now: float = 0.0) -> RunEvents:
    message = outbox.due(now)
    assert message is not None
    outbox.sent(message, now)
    return message


def tags(message: RunEvents) -> list[str]:
    return [tag for tag, _ in message.events]


def test_one_message_at_a_time_until_it_is_acknowledged(folders: RunFolders) -> None:
    outbox = following(folders, "r")
    assert outbox.due(0.0) is None
    assert outbox.next_due(0.0) == float("inf")
    fire(folders, "r", "a", "b")
    assert outbox.next_due(0.0) == 0.0
    first = send(outbox)
    assert (first.first, first.end, tags(first)) == (0, 2, ["a", "b"])
    fire(folders, "r", "c")
    assert outbox.due(1.0) is None
    assert outbox.next_due(1.0) == SEND_AGAIN_AFTER
    assert tags(send(outbox, SEND_AGAIN_AFTER)) == ["a", "b", "c"]
    outbox.acknowledge(RunEventsAck(run_id="r", taken=2))
    last = send(outbox)
    assert (last.first, tags(last)) == (2, ["c"])
    outbox.acknowledge(RunEventsAck(run_id="r", taken=3))
    assert not outbox.waiting("r")
    assert outbox.due(0.0) is None


def test_all_of_it_comes_again_after_a_reconnect_and_after_a_restart(folders: RunFolders) -> None:
    outbox = following(folders, "r")
    fire(folders, "r", "a", "b")
    send(outbox)
    outbox.reconnected()
    assert tags(send(outbox)) == ["a", "b"]
    again = following(folders, "r")
    assert tags(send(again)) == ["a", "b"]
    again.acknowledge(RunEventsAck(run_id="r", taken=1))
    assert tags(send(again)) == ["b"]
    again.acknowledge(RunEventsAck(run_id="r", taken=0))
    assert tags(send(again)) == ["a", "b"], "a controller that has lost them gets them again"


def test_events_of_several_runs_go_in_the_order_of_their_time(folders: RunFolders) -> None:
    outbox = following(folders, "r", "s")
    fire(folders, "r", "1", "2")
    fire(folders, "s", "3")
    fire(folders, "r", "4")
    told = []
    while (message := outbox.due(0.0)) is not None:
        told += tags(message)
        outbox.acknowledge(RunEventsAck(run_id=message.run_id, taken=message.end))
    assert told == ["1", "2", "3", "4"]


def test_a_message_has_as_many_as_fit(folders: RunFolders) -> None:
    outbox = following(folders, "r")
    fire(folders, "r", "1", "2", "3", text="x" * 50_000)
    first = send(outbox)
    assert tags(first) == ["1", "2"]
    outbox.acknowledge(RunEventsAck(run_id="r", taken=first.end))
    assert tags(send(outbox)) == ["3"]


def test_the_file_of_a_worker_that_wakes_nobody_is_read_at_intervals(folders: RunFolders) -> None:
    outbox = RunEventsOutbox()
    outbox.follow("r", folder_of(folders, "r").events, polled=True)
    assert outbox.next_due(5.0) == 5.0 + LOOK_AGAIN
    outbox.forget("r")
    assert outbox.next_due(5.0) == float("inf")


def test_a_result_comes_after_the_events_of_its_run(tmp_path: Path, folders: RunFolders) -> None:
    events = RunEventsOutbox()
    outbox = Outbox(tmp_path, folders, events)
    for run_id in ("r", "s"):
        result = RunResult(run_id=run_id, kind="call", generation=0, digest="", outcome="ok")
        folders.create(Call(run_id=run_id, fun="f")).finish(result)
        events.follow(run_id, folders.of(run_id).events)
        outbox.add(result)
    fire(folders, "r", "a")
    assert [result.run_id for result in outbox.due(0.0)] == ["s"]
    outbox.sent("s", 0.0)
    assert outbox.next_due(0.0) == 30.0
    events.acknowledge(RunEventsAck(run_id="r", taken=1))
    assert outbox.next_due(0.0) == 0.0
    assert [result.run_id for result in outbox.due(0.0)] == ["r"]


def test_a_controller_that_does_not_answer_delays_no_other(folders: RunFolders) -> None:
    outbox = RunEventsOutbox()
    both = ("a", "b")
    for run_id, controller in (("r", "a"), ("s", "b"), ("t", "a"), ("own", "")):
        outbox.follow(run_id, folder_of(folders, run_id).events, controller=controller)
        fire(folders, run_id, f"of-{run_id}")

    def send_all(now: float, full: tuple[str, ...] = ()) -> list[str]:
        sent = []
        while (message := outbox.due(now, both, full)) is not None:
            outbox.sent(message, now)
            sent += tags(message)
        return sent

    assert send_all(0.0, ("a",)) == ["of-s", "of-own"], "the queue of one is full"
    assert send_all(0.0) == ["of-r"], "one message at a time to each"
    assert outbox.next_due(1.0, both) == SEND_AGAIN_AFTER
    outbox.acknowledge(RunEventsAck(run_id="s", taken=1))
    fire(folders, "s", "second")
    assert outbox.next_due(1.0, both) == 1.0
    assert send_all(1.0) == ["second"]
    assert outbox.due(SEND_AGAIN_AFTER, ("b",)) is not None, "what is nobody's comes again"
    outbox.acknowledge(RunEventsAck(run_id="r", taken=1))
    assert send_all(2.0, ()) == ["of-t"]
