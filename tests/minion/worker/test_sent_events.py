from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highstate.types import Chunk, StateResult
from minion.spool.journal import RunFolder, RunFolders
from minion.spool.run_events import MOST_EVENT_BYTES, MOST_RUN_BYTES, RunEventsOutbox
from minion.worker import sent_events
from minion.worker.sent_events import SentEvents
from wire.codec import decode_to_controller, encode
from wire.limits import MinionLimits
from wire.messages import MOST_RUN_EVENTS, RunEvents, RunEventsAck

RESULT = StateResult(name="n", result=True)


def low(name: str = "n", **arguments: Any) -> Chunk:
    return Chunk(state="test", fun="nop", id="i", name=name, sls="s", arguments=arguments)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    found = RunFolders(tmp_path).of("run1")
    found.path.mkdir()
    return found


def attempt(folder: RunFolder) -> SentEvents:
    return SentEvents("web1", "run1", folder, lambda: None)


def on_disk(folder: RunFolder) -> list[tuple[str, dict[str, Any]]]:
    """All events of a run, as an agent sends them."""
    outbox, found = RunEventsOutbox(), []
    outbox.follow("run1", folder.events)
    while (message := outbox.due(0.0)) is not None:
        found += message.events
        outbox.acknowledge(RunEventsAck(run_id="run1", taken=message.end))
    return found


def tags(folder: RunFolder) -> list[str]:
    return [tag for tag, _ in on_disk(folder)]


def test_fire_event_of_a_chunk(folder: RunFolder) -> None:
    events, result = attempt(folder), RESULT
    events.on_result("k", low(), result, 9)
    events.on_result("k", low(fire_event=True), result, 9)
    events.on_result("k2", low(fire_event="my/end"), result, 9)
    assert tags(folder) == ["salt/state_result/run1/web1/n", "salt/state_result/run1/web1/my/end"]
    assert on_disk(folder)[0][1]["ret"]["__id__"] == "i"


def test_a_run_sends_so_many_events_and_says_why_it_sends_no_more(folder: RunFolder) -> None:
    events = attempt(folder)
    for _ in range(MOST_RUN_EVENTS):
        assert events.fire("t", {}) == ""
    assert "a run may send 500 events" in events.fire("t", {})
    assert "a run may send 500 events" in events.on_result(
        "k", low(fire_event=True), StateResult(name="n", result=True), 9
    )
    assert "a run may send 500 events" in attempt(folder).fire("t", {}), "another attempt at the run counts with it"
    assert len(on_disk(folder)) == MOST_RUN_EVENTS


def test_each_state_where_that_is_asked_for(folder: RunFolder) -> None:
    events = SentEvents("web1", "run1", folder, lambda: None, each_state=True)
    for number in range(3):
        assert events.on_result(f"k{number}", low(), StateResult(name="n", result=True, run_num=number), 9) == ""
    assert tags(folder) == [f"salt/job/run1/prog/web1/{number}" for number in range(3)]
    assert on_disk(folder)[0][1]["len"] == 9
    again = SentEvents("web1", "run1", folder, lambda: None, each_state=True)
    again.on_result("k0", low(), StateResult(name="n", result=True, run_num=0), 9)
    again.on_result("k3", low(), StateResult(name="n", result=True, run_num=3), 9)
    assert tags(folder)[3:] == ["salt/job/run1/prog/web1/3"], "those of an earlier attempt are not sent again"


def test_events_of_each_state_leave_room_for_the_others(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sent_events, "MOST_STATE_EVENTS", 2)
    events = SentEvents("web1", "run1", folder, lambda: None, each_state=True)
    for number in range(4):
        assert events.on_result(f"k{number}", low(), StateResult(name="n", result=True, run_num=number), 9) == ""
    assert len(on_disk(folder)) == 2
    for _ in range(MOST_RUN_EVENTS):
        assert events.fire("t", {}) == ""


def test_a_run_sends_so_many_bytes(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    events = attempt(folder)
    assert "131072 is the most" in events.fire("t", {"x": "x" * MOST_EVENT_BYTES})
    assert "8192 characters" in events.fire("t" * 9000, {})
    large = {"x": "x" * (MOST_EVENT_BYTES - 1000)}
    while not (refusal := events.fire("t", large)):
        pass
    assert f"may take {MOST_RUN_BYTES} bytes" in refusal
    assert folder.events.stat().st_size <= MOST_RUN_BYTES
    monkeypatch.setattr(sent_events, "MOST_WAITING_BYTES", MOST_RUN_BYTES // 2)
    other = RunFolder(folder.path.parent / "run2")
    other.path.mkdir()
    assert "wait for the controller" in attempt(other).fire("t", {})


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def test_values_that_no_message_can_carry(folder: RunFolder) -> None:
    events = attempt(folder)
    assert events.fire("t", {"path": {1, 2}, 3: Path("/x")}) == ""
    assert on_disk(folder) == [("t", {"path": [1, 2], "3": "/x"})]
    deepest = MinionLimits().depth - 3  # the data, and what a message has around it
    assert events.fire("t", {"x": nested(deepest - 1)}) == ""
    message = RunEvents(run_id="r", first=0, end=2, events=tuple(on_disk(folder)))
    assert decode_to_controller(encode(message)) == message
    assert "cannot be sent" in events.fire("t", {"x": nested(deepest)})


def test_the_event_of_a_large_result_is_cut(folder: RunFolder) -> None:
    result = StateResult(name="n", result=True, changes={"diff": "x" * 1_000_000})
    assert attempt(folder).on_result("k", low(fire_event=True), result, 9) == ""
    assert len(on_disk(folder)[0][1]["ret"]["changes"]["diff"]) < MOST_EVENT_BYTES


def test_what_a_run_does_again_is_not_sent_again(folder: RunFolder) -> None:
    """The states of a run that was cut off are done again, from the first without a result."""
    first, result = attempt(folder), RESULT
    with first.of(low("a")):
        first.fire("a/1", {"x": 1})
        first.fire("a/1", {"x": 1})
    first.on_result("k", low("a", fire_event=True), result, 9)
    with first.of(low("b")):
        first.fire("a/1", {"x": 1})

    again = attempt(folder)
    again.on_result("k", low("a", fire_event=True), StateResult(name="n", result=True, duration=7.0), 9)
    with again.of(low("b")):
        assert again.fire("a/1", {"x": 1}) == "", "sent by this very state"
        assert again.fire("b/2", {}) == ""
    with again.of(low("c")):
        assert again.fire("a/1", {"x": 1}) == "", "another state sends the same"
    result_tag = "salt/state_result/run1/web1/a"
    assert tags(folder) == ["a/1", "a/1", result_tag, "a/1", "b/2", "a/1"]


def test_a_record_that_a_crash_cut_off_is_dropped(folder: RunFolder) -> None:
    attempt(folder).fire("a", {})
    with folder.events.open("ab") as file:
        file.write(b"\x00\x00\x00\x50half")
    assert tags(folder) == ["a"]
    attempt(folder).fire("b", {})
    assert tags(folder) == ["a", "b"]
