"""Items as lines: those that come together are one piece, and a slow reader holds their source back."""

import asyncio

import msgspec

from controller.api import encoding


def read(piece):
    return [msgspec.json.decode(line) for line in piece.splitlines()]


async def test_lines_that_come_together_are_one_piece():
    more = asyncio.Event()

    async def items():
        for number in range(3):
            yield number
        await more.wait()
        yield 3

    lines = encoding._lines(-1, items())
    assert read(await anext(lines)) + read(await anext(lines)) == [-1, 0, 1, 2]
    more.set()
    assert [read(piece) async for piece in lines] == [[3]]


async def test_a_reader_that_is_slow_holds_the_source_back(monkeypatch):
    monkeypatch.setattr(encoding, "_MOST_WAITING", 100)
    made = []

    async def items():
        for number in range(1000):
            made.append(number)
            yield number

    lines = encoding._lines("first", items())
    await anext(lines)
    for _ in range(10):
        await asyncio.sleep(0)
    assert len(made) < 100
    assert [each async for piece in lines for each in read(piece)] == list(range(1000))


async def test_an_error_is_the_last_line_and_an_asker_who_leaves_closes_the_source():
    closed = []

    async def items():
        try:
            yield 1
            raise ValueError("broken")
        finally:
            closed.append(True)

    said = [each async for piece in encoding._lines(0, items()) for each in read(piece)]
    assert said[:2] == [0, 1]
    assert said[2]["error"] == "internal"

    async def endless():
        try:
            while True:
                yield 1
                await asyncio.sleep(0)
        finally:
            closed.append(True)

    lines = encoding._lines(0, endless())
    await anext(lines)
    await anext(lines)
    await lines.aclose()
    assert closed == [True, True]
