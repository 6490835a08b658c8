"""Sends what waits in the spool: a task a receiver, one message at a time and in their order.

Each attempt is noted in the store before it is made, in a transaction that a controller which no longer leads is
refused. A message that was taken, and whose end could not be noted, is sent again: at least once.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import msgspec
import structlog

from controller.config.limits import NotificationLimits
from controller.notifications.notice import Message
from controller.notifications.receivers.receiver import NotTaken, Receiver, Rejected, TryLater
from controller.observe.notification_metrics import DropReason, NotificationMetrics
from controller.store import Store, StoreError
from controller.store.notifications.table import SpoolEntry, SpoolRoom

log = structlog.get_logger("saltern.notifications")

FIRST_WAIT = 5.0
"""Seconds after the first attempt that failed; each further one waits twice as long."""
LONGEST_WAIT = 900.0
JITTER = 0.2
"""Part by which a wait is longer or shorter, so that what failed together does not come back together."""
_LOOK = 30.0
"""Seconds until it is looked again, woken or not."""


@dataclass(slots=True, kw_only=True)
class ReceiverState:
    """How a receiver does, since the start. Times are seconds since the epoch."""

    sent: int = 0
    failures: int = 0
    """In a row."""
    error: str = ""
    """Of the last attempt; empty: it was taken."""
    sent_at: float | None = None


def wait_after(attempts: int, asked: float, chance: float) -> float:
    """Seconds until the next attempt.

    Args:
        attempts: that failed, at least one.
        asked: seconds that the receiver wants to be left alone; it is never asked earlier.
        chance: from 0 to 1.
    """
    usual = min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempts - 1, 20))
    return max(asked, usual * (1 + JITTER * (2 * chance - 1)))


def room_of(limits: NotificationLimits) -> SpoolRoom:
    """What the spool may hold."""
    return SpoolRoom(entries=limits.entries, size=limits.waiting_bytes, dead=limits.given_up)


@dataclass(slots=True, kw_only=True)
class NotificationDelivery:
    """Sends messages."""

    store: Store
    receivers: Mapping[str, Receiver]
    limits: NotificationLimits
    metrics: NotificationMetrics
    clock: Callable[[], float]
    states: dict[str, ReceiverState] = field(default_factory=dict)
    _wakes: dict[str, asyncio.Event] = field(default_factory=dict)
    _places: asyncio.Semaphore = field(init=False)

    def __post_init__(self) -> None:
        self._places = asyncio.Semaphore(self.limits.at_once)
        self.states = {name: ReceiverState() for name in self.receivers}
        self._wakes = {name: asyncio.Event() for name in self.receivers}

    def wake(self) -> None:
        """Messages were added."""
        for wake in self._wakes.values():
            wake.set()

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            for name in self.receivers:
                tasks.create_task(self._serve(name))
            tasks.create_task(self._count())

    async def test(self, name: str, message: Message) -> str:
        """Send a message at once, beside the spool; why it was not taken, empty where it was."""
        try:
            await self.receivers[name].send(message)
        except NotTaken as error:
            return str(error)
        return ""

    async def _serve(self, name: str) -> None:
        wake = self._wakes[name]
        while True:
            wake.clear()
            try:
                wait = await self._next(name)
            except StoreError as error:
                log.error("notifications: the store cannot be used; it is tried again", error=str(error))
                wait = FIRST_WAIT
            if wait > 0:
                try:
                    async with asyncio.timeout(min(wait, _LOOK)):
                        await wake.wait()
                except TimeoutError:
                    continue

    async def _next(self, name: str) -> float:
        """Try the oldest message of a receiver; seconds until there may be something to do."""
        table = self.store.notifications
        entry = await asyncio.to_thread(table.next_of, name)
        if entry is None:
            return _LOOK
        now = self.clock()
        if now - entry.created > self.limits.waiting_seconds:
            text = f"not taken within {self.limits.waiting_seconds:g} s" + (f": {entry.error}" if entry.error else "")
            await self._give_up(entry, text, "too_old")
            return 0.0
        if entry.next_at > now:
            return entry.next_at - now  # whatever comes meanwhile waits behind it
        async with self._places:
            await asyncio.to_thread(table.begin, entry.id)
            await self._attempt(entry)
        return 0.0

    async def _attempt(self, entry: SpoolEntry) -> None:
        name, table = entry.receiver, self.store.notifications
        try:
            await self.receivers[name].send(msgspec.msgpack.decode(entry.body, type=Message))
        except Rejected as error:
            self._failed(name, str(error))
            await self._give_up(entry, str(error), "rejected")
        except TryLater as error:
            await self._later(entry, str(error), error.after)
        except Exception as error:  # a fault of an adapter must not end the controller, nor hold back others
            log.exception("notifications: internal error", receiver=name)
            await self._later(entry, f"internal error: {type(error).__name__}", 0.0)
        else:
            state = self.states[name]
            state.sent, state.failures, state.error, state.sent_at = state.sent + 1, 0, "", self.clock()
            self.metrics.sent(name)
            await asyncio.to_thread(table.sent, entry.id)

    async def _later(self, entry: SpoolEntry, error: str, asked: float) -> None:
        self._failed(entry.receiver, error)
        wait = wait_after(entry.attempts + 1, asked, random.random())  # noqa: S311 - no secret
        await asyncio.to_thread(self.store.notifications.failed, entry.id, error, self.clock() + wait)

    def _failed(self, name: str, error: str) -> None:
        state = self.states[name]
        state.failures, state.error = state.failures + 1, error
        self.metrics.failed(name)
        if state.failures == 1:
            log.warning("notification not taken", receiver=name, error=error)

    async def _give_up(self, entry: SpoolEntry, error: str, reason: DropReason) -> None:
        await asyncio.to_thread(self.store.notifications.give_up, entry.id, error, room_of(self.limits))
        self.metrics.dropped(entry.receiver, reason)
        log.error("notification given up", receiver=entry.receiver, message=entry.id, error=error)

    async def _count(self) -> None:
        """Tell how much waits, and give up what is for receivers that there are not any more."""
        while True:
            try:
                counts = {one.receiver: one for one in await asyncio.to_thread(self.store.notifications.counts)}
                for name in self.receivers:
                    found = counts.pop(name, None)
                    self.metrics.spooled(name, found.waiting if found else 0, found.oldest if found else None)
                for name in [one.receiver for one in counts.values() if one.waiting]:
                    await asyncio.to_thread(self._forget, name)
            except StoreError:
                pass  # those who send say so
            await asyncio.sleep(_LOOK / 2)

    def _forget(self, receiver: str) -> None:
        while (entry := self.store.notifications.next_of(receiver)) is not None:
            text = "the configuration has no such receiver any more"
            self.store.notifications.give_up(entry.id, text, room_of(self.limits))
