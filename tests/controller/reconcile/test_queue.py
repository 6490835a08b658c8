"""The work queue: a key waits once, and its newest timer counts."""

import asyncio
import time
from contextlib import suppress
from types import SimpleNamespace

from controller.reconcile.queue import WorkQueue


async def test_what_comes_together_is_taken_together():
    queue = WorkQueue(lambda: 0.0)
    queue.add(["a", "b"])
    queue.add(["b", "c"])
    assert await queue.take() == {"a", "b", "c"}
    queue.add([])
    assert await queue.take() == set(), "with no key it only looks around"


async def test_of_many_as_many_are_taken_as_are_wanted():
    queue = WorkQueue(lambda: 0.0)
    queue.add(f"web{number}" for number in range(5))
    taken = [await queue.take(2) for _ in range(3)]
    assert [len(each) for each in taken] == [2, 2, 1]
    assert set().union(*taken) == {f"web{number}" for number in range(5)}
    assert not queue.has_due


async def test_the_newest_timer_of_a_key_counts():
    clock = SimpleNamespace(now=0.0)
    queue = WorkQueue(lambda: clock.now)
    queue.add_at("a", 10.0)
    queue.add_at("a", 20.0)
    queue.add_at("b", 15.0)
    clock.now = 16.0
    assert await queue.take() == {"b"}
    clock.now = 20.0
    assert await queue.take() == {"a"}


async def test_it_waits_until_something_is_due():
    queue = WorkQueue(asyncio.get_running_loop().time)
    queue.add_at("a", asyncio.get_running_loop().time() + 0.02)
    waiting = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    assert not waiting.done()
    assert await waiting == {"a"}


async def test_whoever_is_cancelled_while_something_becomes_due_does_not_go_on():
    queue = WorkQueue(asyncio.get_running_loop().time)
    queue.add_at("a", asyncio.get_running_loop().time() + 3600)
    waiting = asyncio.create_task(queue.take())
    await asyncio.sleep(0)
    queue.add(["b"])
    for _ in range(3):  # the turns of the loop in which the event wakes the task
        waiting.cancel()
        await asyncio.sleep(0)
    with suppress(asyncio.CancelledError):
        await waiting
    assert waiting.cancelled()


async def test_at_the_latest():
    clock = SimpleNamespace(now=0.0)
    queue = WorkQueue(lambda: clock.now)
    queue.add_at("a", 20.0)
    queue.add_by("a", 30.0)
    queue.add_by("b", 30.0)
    queue.add_by("b", 10.0)
    clock.now = 10.0
    assert await queue.take() == {"b"}
    clock.now = 20.0
    assert await queue.take() == {"a"}


async def test_when_the_clock_is_set_all_that_have_a_time_are_due(monkeypatch):
    wall = [1000.0]
    monkeypatch.setattr(time, "time", lambda: wall[0])
    queue = WorkQueue(time.time)
    queue.add_at("later", 1000.0 + 7200)
    queue.add(["now"])
    assert await queue.take() == {"now"}
    wall[0] -= 3600
    queue.add([])
    assert await queue.take() == {"later"}
