"""Events as they were published, by their ids: what followed from what. Bounded by `prune`."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Row, delete, func, insert, or_, select

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import events
from reactors.events import Event

_MOST_BYTES = 64 * 1024
"""Of an event's data; of a larger one only that it happened is kept."""


@dataclass(frozen=True, slots=True)
class Events:
    """The table of events."""

    database: Database

    def add(self, new: Sequence[Event]) -> None:
        """Keep events; one whose id is known already is an error."""
        if not new:
            return
        with self.database.write() as connection:
            connection.execute(insert(events), [_values(event) for event in new])

    def last_id(self) -> int:
        """The highest id; 0 when there are no events."""
        with self.database.read() as connection:
            return connection.scalar(select(func.max(events.c.id))) or 0

    def get(self, event_id: int) -> Event | None:
        """One event."""
        with self.database.read() as connection:
            row = connection.execute(select(events).where(events.c.id == event_id)).first()
        return None if row is None else _event(row)

    def caused_by(self, causes: Collection[int], minion: str) -> list[Event]:
        """The events about a minion that follow directly from any of these, oldest first."""
        found: list[Event] = []
        with self.database.read() as connection:
            for part in chunks([str(cause) for cause in causes]):
                query = select(events).where(events.c.cause.in_(map(int, part)), events.c.minion == minion)
                found += [_event(row) for row in connection.execute(query.order_by(events.c.id))]
        return found

    def newest(self, minion: str, tags: Sequence[str]) -> Event | None:
        """The newest event about a minion with a tag like one of these (`%` stands for any characters)."""
        about = select(events).where(events.c.minion == minion, or_(*(events.c.tag.like(tag) for tag in tags)))
        with self.database.read() as connection:
            row = connection.execute(about.order_by(events.c.id.desc()).limit(1)).first()
        return None if row is None else _event(row)

    def prune(self, before: float, most: int) -> int:
        """Forget events from before a time (seconds since the epoch), and all but the newest `most`; how many."""
        last = self.last_id()
        with self.database.write() as connection:
            return connection.execute(
                delete(events).where(or_(events.c.time < before, events.c.id <= last - most))
            ).rowcount


def _values(event: Event) -> dict[str, Any]:
    data = msgspec.msgpack.encode(dict(event.data))
    return {
        "id": event.id,
        "tag": event.tag[:255],
        "time": event.time,
        "cause": event.cause,
        "revision": event.revision[:64],
        "minion": event.minion[:255],
        "data": data if len(data) <= _MOST_BYTES else msgspec.msgpack.encode({}),
    }


def _event(row: Row[Any]) -> Event:
    data = msgspec.msgpack.decode(row.data, strict=False)
    return Event(id=row.id, tag=row.tag, time=row.time, data=data, cause=row.cause, revision=row.revision)
