"""The queue of events that belong to no run: kept until acknowledged, in order, bounded, with counted drops."""

from __future__ import annotations

import os

import pytest

from minion.spool import minion_events
from minion.spool.minion_events import EventNotQueued, EventQueue, MinionEventsOutbox
from wire.messages import MinionEventsAck


@pytest.fixture
def queue(tmp_path):
    return EventQueue(tmp_path, "web1")


def tags(outbox):
    message = outbox.due(0.0)
    return [tag for tag, _ in message.events] if message else []


def acknowledge(outbox, taken):
    message = outbox.due(0.0)
    outbox.acknowledge(MinionEventsAck(stream=message.stream, taken=taken))


def test_events_are_there_until_they_are_acknowledged(tmp_path, queue):
    outbox = MinionEventsOutbox(tmp_path)
    assert outbox.next_due(1.0) == float("inf")
    for number in range(3):
        queue.add((f"a/{number}", {"n": number}))
    assert outbox.next_due(1.0) == 1.0
    message = outbox.due(0.0)
    assert (message.first, message.end) == (0, 3)
    assert message.events == (("a/0", {"n": 0}), ("a/1", {"n": 1}), ("a/2", {"n": 2}))
    outbox.sent(0.0)
    assert outbox.due(1.0) is None
    assert outbox.due(minion_events.SEND_AGAIN_AFTER) == message
    outbox.acknowledge(MinionEventsAck(stream="another", taken=3))
    assert outbox.due(minion_events.SEND_AGAIN_AFTER) == message
    outbox.acknowledge(MinionEventsAck(stream=message.stream, taken=2))
    assert tags(outbox) == ["a/2"]
    assert tags(MinionEventsOutbox(tmp_path)) == ["a/0", "a/1", "a/2"], "a new agent asks the controller what it has"


def test_the_agent_is_woken_and_known_to_be_there(tmp_path, queue):
    assert not queue.has_agent()
    outbox = MinionEventsOutbox(tmp_path)
    assert queue.has_agent()
    queue.add(("a", {}))
    outbox.woken()
    with pytest.raises(BlockingIOError):
        os.read(outbox.fd, 1)
    os.close(outbox.fd)
    assert not queue.has_agent()


def test_what_was_acknowledged_makes_room_under_another_stream(tmp_path, queue, monkeypatch):
    monkeypatch.setattr(minion_events, "_COMPACTED_FROM", 1)
    outbox = MinionEventsOutbox(tmp_path)
    for number in range(3):
        queue.add((f"a/{number}", {}))
    before = outbox.due(0.0).stream
    acknowledge(outbox, 2)
    message = outbox.due(0.0)
    assert (message.first, message.end, tags(outbox)) == (0, 1, ["a/2"])
    assert message.stream != before


def test_what_has_no_room_is_counted_and_told(tmp_path, queue, monkeypatch):
    outbox = MinionEventsOutbox(tmp_path)
    queue.add(("a/0", {"x": "x" * 500}))
    with monkeypatch.context() as small:
        small.setattr(minion_events, "MOST_QUEUE_BYTES", 600)
        for _ in range(4):
            with pytest.raises(EventNotQueued, match="that is the most"):
                queue.add(("a/1", {"x": "x" * 500}))
    queue.count_dropped(2)
    queue.add(("a/2", {}))
    assert tags(outbox) == ["a/0", "saltern/minion/web1/events_dropped", "a/2"]
    assert outbox.due(0.0).events[1][1] == {"id": "web1", "count": 6}
    queue.add(("a/3", {}))
    assert tags(outbox)[3:] == ["a/3"]


@pytest.mark.parametrize(
    ("tag", "data", "why"),
    [
        ("t" * 2000, {}, "longer than 1024"),
        ("t", {"x": "x" * 200_000}, "131072 is the most"),
        ("t", {"x": {1: {2: set("ab")}}}, ""),
    ],
)
def test_what_cannot_be_sent_is_refused_with_the_reason(queue, tag, data, why):
    if not why:
        queue.add((tag, data))
        return
    with pytest.raises(EventNotQueued, match=why):
        queue.add((tag, data))


def test_a_record_that_a_crash_cut_off_costs_no_other(tmp_path, queue):
    queue.add(("a/0", {}))
    path = tmp_path / "events/queue"
    path.write_bytes(path.read_bytes() + b"\0\0\0\x20torn")
    outbox = MinionEventsOutbox(tmp_path)
    queue.add(("a/1", {}))
    assert tags(outbox) == ["a/0", "a/1"]


def test_many_events_come_in_several_messages(tmp_path, queue):
    outbox = MinionEventsOutbox(tmp_path)
    for number in range(6):
        queue.add((f"a/{number}", {"x": "x" * 50_000}))
    seen = []
    while (message := outbox.due(0.0)) is not None:
        assert len(message.events) <= 3
        seen += [tag for tag, _ in message.events]
        acknowledge(outbox, message.end)
    assert seen == [f"a/{number}" for number in range(6)]
