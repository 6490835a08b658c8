"""Which preview of a pull request is made next, and that none is forgotten or made too many at a time."""

import asyncio

import pytest

from controller.pull_requests.instructions import RunningPreview
from controller.pull_requests.preview_queue import PreviewQueue, PullKey
from controller.schema.reports import PreviewReport
from controller.store.pull_requests import Previewed


class Previews:
    """Previews that end when they are told to."""

    def __init__(self, at_once=1):
        self.made = []
        self.ended = []
        self.gates = {}
        self.queue = PreviewQueue(self.make, self.finished, at_once=at_once, limit=60)

    async def make(self, key, running, target):
        self.made.append(key.number)
        await self.gates.setdefault(key.number, asyncio.Event()).wait()
        return PreviewReport(made_at=1, base="b", head=running.preview.head, minions=0)

    def finished(self, key, finished, seconds):
        self.ended.append(key.number)

    def start(self, number, *, again=False, head_at=0.0):
        preview = Previewed(head=str(number), base_branch="main", at=0)
        self.queue.start(key_of(number), RunningPreview(preview=preview, again=again, head_at=head_at), "")

    async def end(self, number):
        while number not in self.made:
            await asyncio.sleep(0)
        self.gates.setdefault(number, asyncio.Event()).set()
        while number not in self.ended:
            await asyncio.sleep(0)

    async def settle(self):
        for _ in range(10):
            await asyncio.sleep(0)


def key_of(number):
    return PullKey("hub", "org/states", number)


@pytest.fixture
async def previews():
    made = Previews()
    yield made
    await made.queue.close()


async def test_a_newer_base_waits_for_all_others_and_the_newest_head_is_first(previews):
    previews.start(1)
    previews.start(2, again=True, head_at=5)
    previews.start(3, again=True, head_at=9)
    previews.start(4)
    previews.start(5, again=True, head_at=7)
    previews.start(6)
    for number in (1, 4, 6, 3, 5, 2):
        await previews.end(number)
    assert previews.made == [1, 4, 6, 3, 5, 2]


async def test_cancelled_before_its_first_step(previews):
    previews.start(1)
    previews.queue.cancel(key_of(1))
    previews.start(2)
    await previews.end(2)
    assert previews.made == [2]


async def test_cancelled_while_it_waits_or_is_made(previews):
    previews.start(1)
    previews.start(2)
    previews.start(3)
    await previews.settle()
    previews.queue.cancel(key_of(2))
    previews.queue.cancel(key_of(1))
    await previews.end(3)
    assert previews.made == [1, 3]
    assert previews.ended == [3]


async def test_as_many_at_once_as_are_allowed():
    previews = Previews(at_once=2)
    for number in (1, 2, 3):
        previews.start(number)
    await previews.settle()
    assert previews.made == [1, 2]
    await previews.end(2)
    await previews.settle()
    assert previews.made == [1, 2, 3]
    await previews.queue.close()
