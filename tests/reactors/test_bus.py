"""The event bus: bounded, ordered, and tags matched as Salt matches them."""

import asyncio

import pytest

from reactors.bus import Bus
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
    bus = Bus(lambda: 0.0, bound=3)
    with bus.subscribe() as slow:
        for number in range(10):
            bus.publish(f"a/{number}", {})
        assert [event.tag for event in await take(slow, 3)] == ["a/7", "a/8", "a/9"]
        assert slow.dropped == 7


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
