"""A function on so many minions at a time, for `saltern run --batch`: where one has returned, the next begins.

Called by the service. A batch is a task of its own: its asker may leave, and it goes on. It ends with the controller;
what was begun is finished by its minions, and the event `salt/batch/JID/halted` says who was not asked.
Source: salt.cli.batch.Batch.
"""

from __future__ import annotations

import asyncio
import math
from collections import deque
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from msgspec import structs

from controller.jobs.batch_events import BatchEvents
from controller.jobs.jobs import Jobs, returned
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallItem, CallReturn, CallStarted
from options.limits import CountRefusal
from wire.messages import RunResult

log = structlog.get_logger("saltern.jobs")

MOST_WAITING = 1000
"""Returns that wait for an asker who reads slowly; of more, the oldest are not told, and are in the history."""


NOT_YET = "Minion was not asked yet. The batch goes on; how it stands: saltern jobs show {jid}"
"""For an asker who waits no longer."""


@dataclass(slots=True, kw_only=True)
class _Batch:
    """One that goes on."""

    question: CallQuestion
    user: str
    told: BatchEvents
    waiting: deque[str]
    news: asyncio.Queue[CallReturn | None] = field(default_factory=asyncio.Queue)
    """Returns, and None where a place is free."""
    active: dict[str, str] = field(default_factory=dict)
    """Minion -> its run, of those that were asked and have not returned."""
    shown: deque[CallReturn] = field(default_factory=lambda: deque(maxlen=MOST_WAITING))
    """For its asker."""
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    followers: set[asyncio.Task[None]] = field(default_factory=set)
    failed: bool = False
    stopped: bool = False
    """By somebody."""
    ended: bool = False


@dataclass(slots=True, kw_only=True)
class Batches:
    """All batches of people.

    Args:
        jobs: calls functions.
        most: batches that go on at the same time.
        on_refusal: see `options.limits.CountRefusal`; the limit is `batches-at-once`.
    """

    jobs: Jobs
    most: int
    on_refusal: CountRefusal
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _going: dict[str, _Batch] = field(default_factory=dict)
    """By the ids of their jobs."""

    async def call(self, minions: Sequence[str], question: CallQuestion, user: str) -> AsyncIterator[CallItem]:
        """That it has begun, and its returns as they come, for `question.timeout` seconds after each.

        Raises:
            ServiceError: the size is none, the arguments are not right, or too many batches go on.
        """
        size = size_of(question.batch, len(minions))
        if len(self._tasks) >= self.most:
            self.on_refusal("batches-at-once")
            raise ServiceError("conflict", f"{len(self._tasks)} batches go on", hint="try again when one has ended")
        self.jobs.state_calls.parse(question.fun, question.args, question.kwargs)
        jid = self.jobs.ids.next()
        event = self.jobs.opened.open(jid, minions, question, user)
        self.jobs.opened.drive(jid)
        told = BatchEvents(
            bus=self.jobs.bus,
            clock=self.jobs.clock,
            jid=jid,
            question=question,
            user=user,
            minions=minions,
            size=size,
            cause=event,
        )
        batch = _Batch(question=question, user=user, told=told, waiting=deque(minions))
        task = asyncio.create_task(self._run(batch, jid, size), name="batch")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        missing = tuple(minion for minion in minions if self.jobs.sessions.session(minion) is None)
        yield CallStarted(jid=jid, minions=tuple(minions), missing=missing)
        if question.wait:
            async for item in _followed(batch, jid):
                yield item

    def stop(self, jid: str) -> None:
        """Ask nobody more for this job, where it is a batch that goes on."""
        if (batch := self._going.get(jid)) is not None:
            batch.failed = batch.stopped = True

    async def close(self) -> None:
        """The controller ends: nobody more is asked."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, batch: _Batch, jid: str, size: int) -> None:
        free = size
        self._going[jid] = batch
        batch.told.new()
        try:
            while batch.active or (batch.waiting and not batch.failed):
                if free and batch.waiting and not batch.failed:
                    group = [batch.waiting.popleft() for _ in range(min(free, len(batch.waiting)))]
                    free -= len(group)
                    self._begin(batch, group, jid)
                    continue
                if not batch.active:
                    await asyncio.sleep(batch.question.batch_wait)
                    free = size
                    continue
                item = await batch.news.get()
                if item is None:
                    free += 1
                    continue
                self._returned(batch, item)
                if batch.question.batch_wait > 0:
                    asyncio.get_running_loop().call_later(batch.question.batch_wait, batch.news.put_nowait, None)
                else:
                    free += 1
            if batch.waiting:
                batch.told.halted("stop" if batch.stopped else "failhard")
            batch.told.complete()
        except Exception:
            log.exception("batch ended", jid=jid, left=len(batch.waiting))
        finally:
            for follower in batch.followers:
                follower.cancel()
            batch.told.halted("stop")
            batch.ended = True
            del self._going[jid]
            self.jobs.opened.leave(jid)
            batch.changed.set()

    def _begin(self, batch: _Batch, group: Sequence[str], jid: str) -> None:
        batch.told.begin([*batch.active, *group])
        question = structs.replace(batch.question, progress=False)
        asked = self.jobs.start(group, question, user=batch.user, cause=batch.told.cause, job=jid)
        batch.active |= {minion: run_id for minion, (run_id, _) in asked.items()}
        follower = asyncio.create_task(self._follow(batch, asked), name="batch-group")
        batch.followers.add(follower)
        follower.add_done_callback(batch.followers.discard)

    async def _follow(self, batch: _Batch, asked: Mapping[str, tuple[str, asyncio.Future[RunResult] | None]]) -> None:
        """Each of a group returns, or has `DEADLINE` to do so: how long the asker waits is its own affair."""
        question = structs.replace(batch.question, timeout=0.0, progress=False)
        async for item in self.jobs.returns(asked, question):
            if isinstance(item, CallReturn):
                batch.news.put_nowait(item)

    def _returned(self, batch: _Batch, item: CallReturn) -> None:
        batch.active.pop(item.minion, None)
        batch.told.returned(item.minion, answered=item.answered)
        batch.failed = batch.failed or (batch.question.failhard and not item.ok)
        batch.shown.append(item)
        batch.changed.set()


async def _followed(batch: _Batch, jid: str) -> AsyncIterator[CallReturn]:
    """Returns for the asker, until nothing has come for `timeout` seconds (0: however long), and who is left then."""
    timeout = batch.question.timeout
    while True:
        while batch.shown:
            yield batch.shown.popleft()
        if batch.ended:
            return
        batch.changed.clear()
        try:
            async with asyncio.timeout(timeout or None):
                await batch.changed.wait()
        except TimeoutError:
            for minion, run_id in sorted(batch.active.items()):
                yield returned(minion, run_id, None, timeout)
            for minion in tuple(batch.waiting):
                yield CallReturn(minion=minion, ok=False, answered=False, retcode=1, error=NOT_YET.format(jid=jid))
            return


def size_of(given: str, minions: int) -> int:
    """How many at a time; ServiceError for what is no size."""
    text = given.strip()
    try:
        number = float(text.removesuffix("%")) / 100 * minions if text.endswith("%") else int(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number <= 0:
        raise ServiceError("bad-request", f"a batch is a number of minions, or a part of them as 10%, not {given!r}")
    return max(1, int(number))
