"""The event bus: bounded, ordered, and tags matched as Salt matches them."""

import asyncio
import contextlib
import tracemalloc

import pytest

from reactors.bus import Bus, QueueBounds
from reactors.events import tag_matches


async def take(subscription, count):
    found = []
    async for event in subscription:
        found.append(event)
        if len(found) == count:
            return found
    return None


async def test_subscribers_get_what_matches_in_order():
    bus = Bus(lambda: 7.0)
    with bus.subscribe("salt/job/*") as jobs, bus.subscribe() as everything:
        cause = bus.publish("saltern/revision/abc/live", {}, revision="abc")
        bus.publish("salt/job/1/ret/web1", {"id": "web1"}, cause=cause.id, revision="abc")
        assert [event.tag for event in await take(everything, 2)] == [
            "saltern/revision/abc/live",
            "salt/job/1/ret/web1",
        ]
        (job,) = await take(jobs, 1)
    assert (job.cause, job.revision, job.time, job.data) == (cause.id, "abc", 7.0, {"id": "web1"})


async def test_a_slow_subscriber_loses_its_oldest_and_is_told():
    bus = Bus(lambda: 0.0, bounds=QueueBounds(events=3))
    with bus.subscribe() as slow:
        for number in range(10):
            bus.publish(f"a/{number}", {})
        assert [event.tag for event in await take(slow, 3)] == ["a/7", "a/8", "a/9"]
        assert slow.dropped == 7


async def test_the_bytes_that_wait_for_a_subscriber_are_bounded():
    refused = []
    bus = Bus(lambda: 0.0, bounds=QueueBounds(size=1_000_000), on_refusal=refused.append)
    with bus.subscribe() as slow:
        honest = [bus.publish("saltern/a", {"id": f"web{number}"}) for number in range(100)]
        for number in range(200):
            bus.publish("mallory/x", {"id": "mallory", "text": "x" * 20_000, "number": number})
        waiting = slow.drain()
    assert [event for event in waiting if event.minion != "mallory"] == honest
    theirs = [event.data["number"] for event in waiting if event.minion == "mallory"]
    assert theirs == list(range(200 - len(theirs), 200)), "the newest are left"
    assert 30 <= len(theirs) <= 50
    assert refused == ["stream-bytes"] * slow.dropped
    assert slow.drain() == []


async def test_many_events_of_one_push_out_its_own():
    bus = Bus(lambda: 0.0, bounds=QueueBounds(events=100))
    with bus.subscribe() as slow:
        honest = [bus.publish("saltern/a", {"id": f"web{number}"}) for number in range(20)]
        for number in range(1000):
            bus.publish("salt/auth", {"id": f"stranger{number}"})
            bus.publish("mallory/x", {"id": "mallory"})
        waiting = slow.drain()
    assert waiting[:20] == honest
    assert len(waiting) <= 100
    assert waiting == sorted(waiting, key=lambda event: event.id)


async def test_one_event_that_is_larger_than_the_bound_is_dropped():
    bus = Bus(lambda: 0.0, bounds=QueueBounds(size=10_000))
    with bus.subscribe() as slow:
        honest = bus.publish("saltern/a", {"id": "web1"})
        bus.publish("mallory/x", {"id": "mallory", "text": "x" * 20_000})
        assert slow.drain() == [honest]


async def test_a_subscriber_that_waits_is_woken():
    bus = Bus(lambda: 0.0)
    with bus.subscribe() as subscription:
        waiting = asyncio.create_task(take(subscription, 1))
        await asyncio.sleep(0)
        bus.publish("now", {})
        assert (await asyncio.wait_for(waiting, 5))[0].tag == "now"


@pytest.mark.parametrize(
    ("pattern", "tag", "expected"),
    [
        ("salt/job/*/ret/*", "salt/job/1/ret/web1", True),
        ("salt/*", "salt/job/1/ret/web1", True),
        ("salt/job", "salt/job/1", False),
        ("SALT/*", "salt/job", False),
    ],
)
def test_tags(pattern, tag, expected):
    assert tag_matches(pattern, tag) is expected


async def test_a_storm_leaves_bounded_memory_and_the_order_of_each_minion():
    bus = Bus(lambda: 0.0, bounds=QueueBounds(events=5000, size=4_000_000))
    with bus.subscribe() as slow:
        read = []
        tracemalloc.start()
        try:
            for number in range(100_000):
                minion = "storm" if number % 10 else f"web{number // 10 % 20}"
                bus.publish("my/tag", {"id": minion, "number": number, "text": "{{ 1 + 1 }}" * 10})
                if not number % 20_000:
                    read += slow.drain()
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        read += slow.drain()
    assert peak < 32 * 1024 * 1024, "however many come, no more wait than the bounds say"
    assert len(read) + slow.dropped == 100_000
    assert slow.dropped > 50_000
    by_minion = {}
    for event in read:
        by_minion.setdefault(event.minion, []).append(event.data["number"])
    assert all(numbers == sorted(numbers) for numbers in by_minion.values())
    assert all(len(by_minion[f"web{at}"]) == 500 for at in range(20)), "those who send little lose nothing"


async def test_some_are_taken_at_once_bounded_by_number_and_bytes():
    bus = Bus(lambda: 0.0)
    with bus.subscribe() as reader:
        waiting = asyncio.ensure_future(reader.take_some(3, 50_000))
        await asyncio.sleep(0)
        events = [bus.publish("small", {"number": number}) for number in range(5)]
        events += [bus.publish("large", {"text": "x" * 40_000}) for _ in range(3)]
        taken = [await waiting]
        while sum(map(len, taken)) < len(events):
            taken.append(await reader.take_some(3, 50_000))
        assert reader.drain() == []
    assert [event for some in taken for event in some] == events
    assert [len(some) for some in taken] == [3, 3, 2]


async def test_events_that_are_held_are_for_nobody_when_an_error_leaves_it():
    bus = Bus(lambda: 1.0)
    with bus.subscribe() as seen:
        with bus.held():
            bus.publish("a", {})
            with contextlib.suppress(ValueError), bus.held():
                bus.publish("b", {})
                raise ValueError
            with bus.held():
                bus.publish("c", {})
            assert seen.drain() == []
        assert [event.tag for event in seen.drain()] == ["a", "c"]
        with contextlib.suppress(ValueError), bus.held():
            bus.publish("d", {})
            raise ValueError
        bus.publish("e", {})
        assert [event.tag for event in seen.drain()] == ["e"]
