"""The order in which a preview compiles: those that are alike follow each other, and each process has its part."""

import asyncio
import itertools

import pytest

from controller.preview.sides.batches import TOGETHER, batches_of
from controller.preview.sides.one_ahead import one_ahead
from controller.store import MinionRecord


def minion(number):
    system = ("Debian", "Rocky")[number // 5 % 2]
    return MinionRecord(id=f"m{number:03d}", grains={"os": system, "role": f"role{number % 5}"})


MINIONS = [minion(number) for number in range(230)]


def files_of(name):
    return (int(name[1:]) % 5,)


def kind(record):
    return files_of(record.id), record.grains["os"]


@pytest.mark.parametrize("processes", [1, 2])
def test_everyone_is_in_one_batch_beside_its_like(processes):
    batches = batches_of(MINIONS, files_of, processes)
    assert sorted(each.id for batch in batches for each in batch) == [each.id for each in MINIONS]
    assert max(map(len, batches)) <= TOGETHER
    each = TOGETHER // processes
    for part in range(processes):
        kinds = [kind(one) for batch in batches for one in batch[part * each : (part + 1) * each]]
        changes = sum(one != other for one, other in itertools.pairwise(kinds))
        assert changes <= 10 // processes + 1, "a kind that was left comes again"


def test_nobody_gives_no_batch():
    assert batches_of([], files_of, 2) == []


def test_who_is_not_known_comes_by_system():
    batches = batches_of(MINIONS[:20], lambda _: (), 1)
    assert [each.grains["os"] for each in batches[0]] == ["Debian"] * 10 + ["Rocky"] * 10


async def test_the_next_result_is_made_while_one_is_used():
    begun = [asyncio.Event() for _ in range(3)]

    async def make(number):
        begun[number].set()
        return number

    results = one_ahead([lambda number=number: make(number) for number in range(3)])
    found = []
    async for result in results:
        found.append(result)
        if result < 2:
            await begun[result + 1].wait()
    assert found == [0, 1, 2]


async def test_what_is_being_made_ends_with_the_generator():
    ended = asyncio.Event()

    async def at_once():
        return 0

    async def never():
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    results = one_ahead([at_once, never])
    assert await anext(results) == 0
    await asyncio.sleep(0)  # the second one begins
    await results.aclose()
    assert ended.is_set()
