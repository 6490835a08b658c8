"""The event bus inside a controller: bounded, and no subscriber can slow the others or the publisher.

The controller publishes; the API streams to people, and reactor rules will subscribe. A subscriber that falls
behind loses its oldest events and is told how many.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any

from reactors.events import Event, tag_matches


class Subscription:
    """One subscriber's queue; iterate over it. `dropped` counts what it was too slow for."""

    def __init__(self, pattern: str, bound: int) -> None:
        self.pattern = pattern
        self.dropped = 0
        self._queue: deque[Event] = deque()
        self._bound = bound
        self._ready = asyncio.Event()

    def offer(self, event: Event) -> None:
        """Queue an event, dropping the oldest when full."""
        if len(self._queue) >= self._bound:
            self._queue.popleft()
            self.dropped += 1
        self._queue.append(event)
        self._ready.set()

    def drain(self) -> list[Event]:
        """All that is queued, which is not queued any more."""
        events = list(self._queue)
        self._queue.clear()
        self._ready.clear()
        return events

    async def wait(self) -> None:
        """Wait until something is queued."""
        await self._ready.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._queue:
                yield self._queue.popleft()
            self._ready.clear()
            await self._ready.wait()


class Bus:
    """Publish and subscribe within one asyncio loop.

    Args:
        clock: seconds since the epoch.
        bound: events that one subscriber may lag behind.
        last: id of the newest event of an earlier life; ids go on after it.
    """

    def __init__(self, clock: Callable[[], float], *, bound: int = 10_000, last: int = 0) -> None:
        self._clock = clock
        self._bound = bound
        self._last = last
        self._subscriptions: set[Subscription] = set()

    def publish(self, tag: str, data: Mapping[str, Any], *, cause: int = 0, revision: str = "") -> Event:
        """Fire an event; returns it, so that its id can be the cause of the next."""
        self._last += 1
        event = Event(id=self._last, tag=tag, time=self._clock(), data=data, cause=cause, revision=revision)
        for subscription in self._subscriptions:
            if tag_matches(subscription.pattern, tag):
                subscription.offer(event)
        return event

    @contextlib.contextmanager
    def subscribe(self, pattern: str = "*") -> Iterator[Subscription]:
        """Events from now on whose tag matches the glob."""
        subscription = Subscription(pattern, self._bound)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
