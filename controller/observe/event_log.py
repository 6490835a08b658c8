"""Keeps events in the store, in batches and some time after they happened, so that no push waits for it.

Run by `controller.app` beside the reconcilers. How far a run is is not kept (`is_progress`).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence

import msgspec
import structlog

from controller.observe.event_budget import EventBudget
from controller.store import Store, StoreError
from options.limits import CountRefusal, uncounted
from reactors.bus import Bus, Subscription
from reactors.events import KEY_REQUEST, Event
from reactors.tag_patterns import TagPattern
from reactors.tags import is_progress
from wire.limits import MinionLimits

log = structlog.get_logger("saltern.events")

MOST_EVENTS = 50_000
"""That are kept."""
MOST_SECONDS = 14 * 86400.0
"""That an event is kept."""
MOST_READ = 10_000
"""Kept events that one reader gets."""
WRITE_SECONDS = 1.0
"""Between an event and its writing; what happens meanwhile is written with it."""


class EventLog:
    """Writes what a bus publishes.

    Args:
        store: where events are kept.
        bus: whose events from now on are kept.
        clock: seconds since the epoch.
        limits: how many events about one minion are kept.
        on_refusal: see `options.limits.CountRefusal`.
    """

    def __init__(
        self,
        store: Store,
        bus: Bus,
        clock: Callable[[], float],
        limits: MinionLimits | None = None,
        on_refusal: CountRefusal = uncounted,
    ) -> None:
        self._budget = EventBudget(limits or MinionLimits())
        self._on_refusal = on_refusal
        self._store = store
        self._clock = clock
        self._subscribed = bus.subscribe()
        self._subscription: Subscription = self._subscribed.__enter__()
        self._unwritten: list[Event] = []
        self._writing = asyncio.Lock()
        self._kept_now: dict[int, bool] = {}
        """Ids of events that are kept before they are published, and whether there was room for them."""
        bus.keep = self.keep_first

    def waiting(self) -> int:
        """How many events are not written yet."""
        return self._subscription.waiting() + len(self._unwritten)

    async def run(self) -> None:
        """Write events until cancelled."""
        try:
            while True:
                await self._subscription.wait()
                await asyncio.sleep(WRITE_SECONDS)
                await self.flush()
        finally:
            self._subscribed.__exit__(None, None, None)

    async def flush(self) -> None:
        """Write what has been published. While the store cannot be written, the subscription's bounds hold."""
        async with self._writing:
            while self._unwritten or self._take():
                try:
                    await self._write()
                except StoreError as error:
                    count = len(self._unwritten)
                    log.error("events not stored; they are written later", count=count, error=str(error))
                    return

    async def _write(self) -> None:
        """Write what was taken. A thread cannot be cancelled: who is waits for it, so that nothing is written twice."""
        writing = asyncio.ensure_future(asyncio.to_thread(self._store.events.add, self._unwritten))
        try:
            await asyncio.shield(writing)
        except asyncio.CancelledError:
            with contextlib.suppress(StoreError):
                await writing
                self._unwritten = []
            raise
        self._unwritten = []

    def keep_now(self, events: Sequence[Event]) -> None:
        """Keep events that are published only once they are kept, in the transaction of the caller."""
        room = {event.id: self._is_kept(event) for event in events}
        self._store.events.add([event for event in events if room[event.id]])
        self._kept_now |= room

    def keep_first(self, event: Event) -> Event:
        """Keep a durable event that is being published; as one that is not durable where that cannot be."""
        known = self._kept_now.get(event.id)
        if known is None and self._is_kept(event):
            try:
                self._store.events.add([event])
            except StoreError as error:
                log.error("durable event not stored; it is passed on, and written later", error=str(error))
            else:
                known = self._kept_now[event.id] = True
        return event if known else msgspec.structs.replace(event, durable=False)

    def _take(self) -> bool:
        """Take what has been published; whether any of it is kept."""
        events = self._subscription.drain()
        self._unwritten = [event for event in events if event.id not in self._kept_now and self._is_kept(event)]
        newest = max((event.id for event in events), default=0)
        self._kept_now = {number: kept for number, kept in self._kept_now.items() if number > newest}
        return bool(self._unwritten)

    def _is_kept(self, event: Event) -> bool:
        """Whether an event is written: no progress, and no more about one minion than it may cause."""
        if is_progress(event.tag):
            return False
        about = event.tag if event.tag == KEY_REQUEST else event.minion
        if about and not self._budget.take(about, event.time):
            self._on_refusal("events")
            return False
        return True

    def kept(self, wanted: TagPattern, seconds: float) -> list[Event]:
        """The newest kept events of the last so many seconds that are wanted, oldest first.

        May be called from a thread.
        """
        found = self._store.events.since(self._clock() - seconds, wanted.head, MOST_READ)
        return [event for event in reversed(found) if wanted.matches(event.tag)]

    def page_after(self, event_id: int, head: str) -> list[Event]:
        """The first kept events after one whose tag begins so, oldest first; empty: there are no more.

        May be called from a thread.
        """
        return self._store.events.after(event_id, head, MOST_READ)

    def prune(self, most_durable: int) -> int:
        """Forget what is too old or too much; how many durable events that were too many. May be called in a thread."""
        self._store.events.prune(self._clock() - MOST_SECONDS, MOST_EVENTS)
        return self._store.events.prune_durable(most_durable)
