"""Long turns of the event loop are counted, and the log says what ran."""

from __future__ import annotations

import asyncio
import time

import pytest
import structlog

from controller.observe.loop_stalls import STALL_SECONDS, StallSelector, StallWatch


def run(body, stalls: list[float]) -> list[dict]:
    selector = StallSelector()
    with (
        structlog.testing.capture_logs() as logs,
        asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selector)) as runner,
    ):
        loop = runner.get_loop()

        async def watched() -> None:
            with StallWatch(loop, selector, stalls.append):
                await body()
                await asyncio.sleep(0)

        runner.run(watched())
    return logs


def test_a_turn_that_blocks_is_measured_and_its_task_is_named():
    stalls: list[float] = []

    async def block() -> None:
        time.sleep(STALL_SECONDS * 2)

    async def body() -> None:
        await asyncio.create_task(block(), name="greedy")

    logs = run(body, stalls)
    assert len(stalls) == 1
    assert stalls[0] >= STALL_SECONDS * 2
    assert [(entry["event"], entry["task"]) for entry in logs] == [("event loop stalled", "greedy")]


def test_waiting_is_no_stall():
    stalls: list[float] = []

    async def body() -> None:
        await asyncio.sleep(STALL_SECONDS * 2)

    assert run(body, stalls) == []
    assert stalls == []


def test_an_error_of_the_body_ends_the_watch():
    async def body() -> None:
        raise LookupError

    with pytest.raises(LookupError):
        run(body, [])
