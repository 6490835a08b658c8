"""Long turns of the event loop are counted, and the log says what ran."""

from __future__ import annotations

import asyncio
import functools
import time

import pytest
import structlog

from controller.observe.loop_stalls import STALL_SECONDS, StallSelector, StallWatch


def run(body, stalls: list[tuple[float, float]]) -> list[dict]:
    selector = StallSelector()
    with (
        structlog.testing.capture_logs() as logs,
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner,
    ):
        loop = runner.get_loop()

        async def watched() -> None:
            with StallWatch(loop, selector, lambda *stall: stalls.append(stall)):
                await body()
                await asyncio.sleep(0)

        runner.run(watched())
    return logs


def test_a_turn_that_blocks_is_measured_and_its_task_is_named():
    stalls: list[tuple[float, float]] = []

    async def block() -> None:
        time.sleep(STALL_SECONDS * 2)

    async def body() -> None:
        await asyncio.create_task(block(), name="greedy")

    logs = run(body, stalls)
    assert len(stalls) == 1
    seconds, computed = stalls[0]
    assert seconds >= STALL_SECONDS * 2
    assert computed < STALL_SECONDS
    assert [(entry["event"], entry["task"]) for entry in logs] == [("event loop stalled", "greedy")]


def test_computing_is_told_from_waiting_and_a_callback_is_named():
    stalls: list[tuple[float, float]] = []

    def compute(seconds: float) -> None:
        until = time.thread_time() + seconds
        while time.thread_time() < until:
            pass

    async def body() -> None:
        asyncio.get_running_loop().call_soon(functools.partial(compute, STALL_SECONDS * 2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    (entry,) = run(body, stalls)
    ((seconds, computed),) = stalls
    assert STALL_SECONDS * 2 <= computed <= seconds
    assert entry["callback"].endswith(".compute")
    assert entry["at"].endswith(" compute")
    assert entry["computed"] == round(computed, 3)


def test_what_was_done_before_the_watch_is_no_stall():
    stalls: list[tuple[float, float]] = []

    selector = StallSelector()
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner:
        loop = runner.get_loop()

        async def late() -> None:
            time.sleep(STALL_SECONDS * 2)
            with StallWatch(loop, selector, lambda *stall: stalls.append(stall)):
                await asyncio.sleep(0)

        runner.run(late())
    assert stalls == []


def test_waiting_is_no_stall():
    stalls: list[tuple[float, float]] = []

    async def body() -> None:
        await asyncio.sleep(STALL_SECONDS * 2)

    assert run(body, stalls) == []
    assert stalls == []


def test_an_error_of_the_body_ends_the_watch():
    async def body() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run(body, [])
