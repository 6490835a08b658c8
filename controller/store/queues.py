"""Items that wait in named queues, first in, first out. An item is in a queue once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import delete, func, insert, select

from controller.store.database import Database
from controller.store.schema import queue_items


@dataclass(frozen=True, slots=True)
class Queues:
    """The table of queued items. Items are what msgpack knows; equal ones are those that are packed alike."""

    database: Database

    def insert(self, queue: str, items: Sequence[Any]) -> Any | None:
        """Add items at the end, all or none; None, or the item that is in the queue already."""
        packed = [_pack(item) for item in items]
        known = queue_items.c.queue == queue
        with self.database.write() as connection:
            for place, item in enumerate(packed):
                there = connection.scalar(select(queue_items.c.seq).where(known, queue_items.c.item == item))
                if there is not None or item in packed[:place]:
                    return items[place]
            if packed:
                connection.execute(insert(queue_items), [{"queue": queue, "item": item} for item in packed])
        return None

    def delete(self, queue: str, items: Sequence[Any]) -> int:
        """Take items out, wherever they stand; how many were there."""
        gone = delete(queue_items).where(
            queue_items.c.queue == queue, queue_items.c.item.in_([_pack(item) for item in items])
        )
        with self.database.write() as connection:
            return connection.execute(gone).rowcount

    def pop(self, queue: str, count: int | None) -> list[Any]:
        """Take out the first `count` items, or all."""
        first = select(queue_items).where(queue_items.c.queue == queue).order_by(queue_items.c.seq).limit(count)
        with self.database.write() as connection:
            rows = connection.execute(first).all()
            for row in rows:
                connection.execute(delete(queue_items).where(queue_items.c.seq == row.seq))
        return [msgspec.msgpack.decode(row.item) for row in rows]

    def items(self, queue: str) -> list[Any]:
        """What waits, the next to be taken first."""
        query = select(queue_items.c.item).where(queue_items.c.queue == queue).order_by(queue_items.c.seq)
        with self.database.read() as connection:
            return [msgspec.msgpack.decode(item) for item in connection.scalars(query)]

    def length(self, queue: str) -> int:
        """How many items wait."""
        query = select(func.count()).select_from(queue_items).where(queue_items.c.queue == queue)
        with self.database.read() as connection:
            return connection.scalar(query) or 0

    def names(self) -> list[str]:
        """Queues in which something waits, sorted."""
        with self.database.read() as connection:
            return list(connection.scalars(select(queue_items.c.queue).distinct().order_by(queue_items.c.queue)))


def _pack(item: Any) -> bytes:
    return msgspec.msgpack.encode(item, order="sorted")
