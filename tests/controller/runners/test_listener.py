"""What a runner says reaches who waits, in order and to its end; nobody who went away holds a runner up."""

import asyncio

from controller.runners.listener import MOST_NEWS, Listener


async def test_all_that_is_said_before_the_end_is_read():
    listener = Listener()

    async def talk():
        for number in range(3 * MOST_NEWS):
            await listener.write(str(number))

    task = asyncio.ensure_future(talk())
    assert [news async for news in listener.news_until(task, 0)] == [str(number) for number in range(3 * MOST_NEWS)]


async def test_progress_that_nobody_reads_is_dropped():
    listener = Listener()
    for number in range(2 * MOST_NEWS):
        listener.tell({"n": number})
    done = asyncio.get_running_loop().create_future()
    done.set_result(None)
    assert len([news async for news in listener.news_until(done, 0)]) == MOST_NEWS


async def test_a_reader_that_goes_away_lets_the_writer_go_on():
    listener = Listener()

    async def talk():
        for _ in range(2 * MOST_NEWS):
            await listener.write("x")

    task = asyncio.ensure_future(talk())
    await asyncio.sleep(0)
    listener.leave()
    await asyncio.wait_for(task, 30)
    await listener.gone()


async def test_waiting_ends_with_its_time():
    listener = Listener()
    never = asyncio.get_running_loop().create_future()
    assert [news async for news in listener.news_until(never, 0.05)] == []
