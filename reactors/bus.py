"""The event bus inside a controller: bounded, and no subscriber can slow the others or the publisher.

The controller publishes; the API streams to people, and reactor rules will subscribe. A subscriber that falls
behind loses the oldest events of whoever has most of them in its queue, so that a minion that causes many or large
events pushes out its own.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections import OrderedDict, deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import msgspec

from options.limits import CountRefusal, uncounted
from reactors.events import KEY_REQUEST, Event, tag_matches
from reactors.fair_share import fair_share

_BESIDE_DATA = 500
"""Bytes of memory of an event without its data, about."""
_ROOM = 8
"""An eviction makes room for one in so many, so that not each event needs one."""


IsWanted: TypeAlias = Callable[[Event], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueBounds:
    """What may wait for one subscriber."""

    events: int = 10_000
    size: int = 16 * 1024 * 1024
    """Bytes of their data, packed."""


@dataclass(slots=True)
class _Share:
    """What waits of one minion, or of all strangers."""

    size: int = 0
    ids: deque[int] = field(default_factory=deque)


class Subscription:
    """One subscriber's queue; iterate over it. `dropped` counts what it was too slow for."""

    def __init__(self, wanted: IsWanted, bounds: QueueBounds, on_refusal: CountRefusal = uncounted) -> None:
        self.wanted = wanted
        self.dropped = 0
        self._queue: OrderedDict[int, tuple[Event, int]] = OrderedDict()
        """By their ids, which rise, with their sizes."""
        self._shares: dict[str, _Share] = {}
        self._size = 0
        self._bounds = bounds
        self._on_refusal = on_refusal
        self._ready = asyncio.Event()

    def waiting(self) -> int:
        """How many events are queued."""
        return len(self._queue)

    def offer(self, event: Event, size: int) -> None:
        """Queue an event of a size in bytes, dropping others when full."""
        share = self._shares.setdefault(_owner(event), _Share())
        share.ids.append(event.id)
        share.size += size
        self._size += size
        self._queue[event.id] = event, size
        for full, limit in (
            (len(self._queue) > self._bounds.events, "stream-events"),
            (self._size > self._bounds.size, "stream-bytes"),
        ):
            if full:
                self._make_room(limit)
        self._ready.set()

    def _make_room(self, limit: str) -> None:
        """Drop the oldest events of the largest shares, and then of all."""
        by_number = limit == "stream-events"
        most = self._bounds.events if by_number else self._bounds.size
        room = most - most // _ROOM
        weights = {owner: _weight(share, by_number=by_number) for owner, share in self._shares.items()}
        fair = fair_share(weights.values(), room)
        for owner in [owner for owner, weight in weights.items() if weight > fair]:
            share = self._shares[owner]
            while share.ids and _weight(share, by_number=by_number) > max(fair, 1):
                self._drop(share.ids[0], limit)
        while (len(self._queue) if by_number else self._size) > room:
            self._drop(next(iter(self._queue)), limit)

    def _drop(self, number: int, limit: str) -> None:
        self._take(_owner(self._queue[number][0]), number)
        self.dropped += 1
        self._on_refusal(limit)

    def _take(self, owner: str, number: int) -> Event:
        """The oldest event of its owner, which is not queued any more."""
        event, size = self._queue.pop(number)
        share = self._shares[owner]
        share.ids.popleft()
        share.size -= size
        self._size -= size
        if not share.ids:
            del self._shares[owner]
        return event

    def drain(self) -> list[Event]:
        """All that is queued, which is not queued any more."""
        events = [event for event, _ in self._queue.values()]
        self._queue.clear()
        self._shares.clear()
        self._size = 0
        self._ready.clear()
        return events

    async def take_some(self, most: int, most_bytes: int) -> list[Event]:
        """The oldest that are queued, once there are any: at most so many, the last where the bytes are reached."""
        while not self._queue:
            self._ready.clear()
            await self._ready.wait()
        taken: list[Event] = []
        size = 0
        while self._queue and len(taken) < most and size < most_bytes:
            event, event_size = next(iter(self._queue.values()))
            size += event_size
            taken.append(self._take(_owner(event), event.id))
        return taken

    async def wait(self) -> None:
        """Wait until something is queued."""
        await self._ready.wait()

    async def __aiter__(self) -> AsyncIterator[Event]:
        while True:
            while self._queue:
                event, _ = next(iter(self._queue.values()))
                yield self._take(_owner(event), event.id)
            self._ready.clear()
            await self._ready.wait()


def _every(event: Event) -> bool:
    return True


def _never(tag: str) -> bool:
    return False


def _as_it_is(event: Event) -> Event:
    return event


def _owner(event: Event) -> str:
    """Whose room in the queue an event takes; strangers choose the ids in key requests, and share one."""
    return event.tag if event.tag == KEY_REQUEST else event.minion


def _weight(share: _Share, *, by_number: bool) -> int:
    return len(share.ids) if by_number else share.size


def _size_of(event: Event) -> int:
    try:
        return _BESIDE_DATA + len(msgspec.msgpack.encode(event.data))
    except (TypeError, ValueError, OverflowError, RecursionError):
        return _BESIDE_DATA + len(repr(event.data))


class Bus:
    """Publish and subscribe within one asyncio loop.

    Args:
        clock: seconds since the epoch.
        bounds: how far one subscriber may lag behind.
        last: id of the newest event of an earlier life; ids go on after it.
        on_refusal: see `options.limits.CountRefusal`; the limits are `stream-events` and `stream-bytes`.
    """

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        bounds: QueueBounds | None = None,
        last: int = 0,
        on_refusal: CountRefusal = uncounted,
    ) -> None:
        self._clock = clock
        self._bounds = bounds or QueueBounds()
        self._on_refusal = on_refusal
        self._last = last
        self.is_durable: Callable[[str], bool] = _never
        """Whether events of a tag are durable."""
        self.keep: Callable[[Event], Event] = _as_it_is
        """Keeps a durable event before anybody sees it; the event, not durable when it could not be kept."""
        self._subscriptions: set[Subscription] = set()
        self._held: list[Event] | None = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Events that are fired inside are for subscribers when it ends well, and for nobody when an error leaves it.

        Put it around a transaction, so that nobody sees an event of what was not stored. Durable events are kept at
        once, by that transaction.
        """
        around, self._held = self._held, []
        try:
            yield
        except BaseException:
            self._held = around
            raise
        fired, self._held = self._held, around
        for event in fired:
            self._offer(event)

    @property
    def last(self) -> int:
        """Id of the newest event, which is their number."""
        return self._last

    def publish(self, tag: str, data: Mapping[str, Any], *, cause: int = 0, revision: str = "") -> Event:
        """Fire an event; returns it, so that its id can be the cause of the next."""
        event = self.make(tag, data, cause=cause, revision=revision)
        self.deliver(event)
        return event

    def make(self, tag: str, data: Mapping[str, Any], *, cause: int = 0, revision: str = "") -> Event:
        """An event that is for `deliver` once it is stored; others may be published before it."""
        self._last += 1
        return Event(
            id=self._last,
            tag=tag,
            time=self._clock(),
            data=data,
            cause=cause,
            revision=revision,
            durable=self.is_durable(tag),
        )

    def deliver(self, event: Event) -> None:
        """Fire an event that was made."""
        if event.durable:
            event = self.keep(event)
        self._offer(event)

    def _offer(self, event: Event) -> None:
        if self._held is not None:
            self._held.append(event)
            return
        asked = [each for each in self._subscriptions if each.wanted(event)]
        size = _size_of(event) if asked else 0
        for subscription in asked:
            subscription.offer(event, size)

    def subscribe(self, pattern: str = "*") -> contextlib.AbstractContextManager[Subscription]:
        """Events from now on whose tag matches the glob."""
        return self.subscribe_to(_every if pattern == "*" else lambda event: tag_matches(pattern, event.tag))

    @contextlib.contextmanager
    def subscribe_to(
        self, wanted: IsWanted, *, bounds: QueueBounds | None = None, on_refusal: CountRefusal | None = None
    ) -> Iterator[Subscription]:
        """Events from now on that are wanted.

        Args:
            wanted: asked about every event as it is published; must be fast.
            bounds: how far this subscriber may lag behind.
            on_refusal: see `Bus`.
        """
        subscription = Subscription(wanted, bounds or self._bounds, on_refusal or self._on_refusal)
        self._subscriptions.add(subscription)
        try:
            yield subscription
        finally:
            self._subscriptions.discard(subscription)
