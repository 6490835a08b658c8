"""Events as they were published, by their ids: what followed from what. Bounded by `prune`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Row, Select, and_, case, delete, func, insert, or_, select, update

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import events, minions
from reactors.events import KEY_REQUEST, Event
from reactors.fair_share import fair_share
from reactors.storable import storable

_ROOM = 8
"""`prune` makes room for one event in so many."""
_AT_ONCE = 2000
"""Events that are forgotten in one transaction."""
_MOST_FOLLOWING = 10_000
_UNANSWERED, _ANSWERED = 1, 2
"""Of a durable event."""
_ORDINARY = events.c.durable == 0
_MOST_BYTES = 64 * 1024
"""Of an event's data; of a larger one only that it happened is kept. Durable ones have as much as a message brings."""


@dataclass(slots=True)
class _Kept:
    total: int | None = None
    """Number of events that are not durable; None when it has to be counted."""


@dataclass(frozen=True, slots=True)
class Events:
    """The table of events."""

    database: Database
    _kept: _Kept = field(default_factory=_Kept)

    def add(self, new: Sequence[Event]) -> None:
        """Keep events; one whose id is known already is an error."""
        if not new:
            return
        total, self._kept.total = self._kept.total, None
        with self.database.write() as connection:
            connection.execute(insert(events), [_values(event) for event in new])
        self._kept.total = None if total is None else total + sum(not event.durable for event in new)

    def unanswered(self, limit: int) -> list[Event]:
        """The first durable events that reactors have not looked at, oldest first."""
        query = select(events).where(events.c.durable == _UNANSWERED).order_by(events.c.id).limit(limit)
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(query)]

    def answered(self, ids: Sequence[int]) -> None:
        """Reactors have looked at these."""
        with self.database.write() as connection:
            for part in chunks([str(number) for number in ids]):
                connection.execute(update(events).where(events.c.id.in_(map(int, part))).values(durable=_ANSWERED))

    def last_id(self) -> int:
        """The highest id; 0 when there are no events."""
        with self.database.read() as connection:
            return connection.scalar(select(func.max(events.c.id))) or 0

    def get(self, event_id: int) -> Event | None:
        """One event."""
        with self.database.read() as connection:
            row = connection.execute(select(events).where(events.c.id == event_id)).first()
        return None if row is None else _event(row)

    def caused_by(self, causes: Collection[int], *minions: str) -> list[Event]:
        """The events (about minions) that follow directly from any of these, oldest first; of each part so many."""
        found: list[Event] = []
        with self.database.read() as connection:
            for part in chunks([str(cause) for cause in causes]):
                query = select(events).where(events.c.cause.in_(map(int, part)))
                query = query.where(events.c.minion.in_(minions)) if minions else query
                rows = connection.execute(query.order_by(events.c.id).limit(_MOST_FOLLOWING))
                found += [_event(row) for row in rows]
        return found

    def several(self, ids: Collection[int]) -> list[Event]:
        """Events by their ids; those that are gone are left out."""
        found: list[Event] = []
        with self.database.read() as connection:
            for part in chunks([str(number) for number in ids]):
                rows = connection.execute(select(events).where(events.c.id.in_(map(int, part))))
                found += [_event(row) for row in rows]
        return found

    def of_minions(self, minions: Collection[str], tags: Collection[str], limit: int) -> list[Event]:
        """Events about any of these minions with any of these whole tags, newest first."""
        query = select(events).where(events.c.tag.in_(tags), events.c.minion.in_(minions))
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(query.order_by(events.c.id.desc()).limit(limit))]

    def tagged(
        self, tags: Sequence[str], limit: int, *, minion: str = "", before: int = 0, aside: bool = False
    ) -> list[Event]:
        """The newest events with a tag like one of these (`%` stands for any characters), newest first.

        Args:
            tags: what their tags are like.
            limit: at most so many.
            minion: only events about this one; empty: about any.
            before: only events older than the one with this id; 0: all.
            aside: nothing else waits while they are read, in a thread: all events may be looked through.
        """
        query = select(events).where(or_(*(events.c.tag.like(tag) for tag in tags)))
        if minion:
            query = query.where(events.c.minion == minion)
        if before:
            query = query.where(events.c.id < before)
        with self.database.read_aside() if aside else self.database.read() as connection:
            rows = connection.execute(query.order_by(events.c.id.desc()).limit(limit)).all()
        return [_event(row) for row in rows]

    def newest(self, minion: str, tags: Sequence[str]) -> Event | None:
        """The newest event about a minion with a tag like one of these (`%` stands for any characters)."""
        about = select(events).where(events.c.minion == minion, or_(*(events.c.tag.like(tag) for tag in tags)))
        with self.database.read() as connection:
            row = connection.execute(about.order_by(events.c.id.desc()).limit(1)).first()
        return None if row is None else _event(row)

    def failed_compiles(self, labels: Collection[str]) -> Mapping[str, frozenset[str]]:
        """Label of a revision -> the minions whose last compile of it failed, as far as these events are kept."""
        newest = func.max(events.c.id)
        query = select(events.c.revision, events.c.minion, events.c.tag, newest).where(
            events.c.revision.in_(labels),
            or_(events.c.tag.like("saltern/compile/%/error"), events.c.tag.like("saltern/compile/%/ok")),
            events.c.minion.in_(select(minions.c.id)),
        )
        last: dict[tuple[str, str], tuple[int, bool]] = {}
        with self.database.read_aside() as connection:
            for row in connection.execute(query.group_by(events.c.revision, events.c.minion, events.c.tag)):
                about = (row.revision, row.minion)
                last[about] = max(last.get(about, (0, False)), (row[3], row.tag.endswith("/error")))
        found: dict[str, set[str]] = defaultdict(set)
        for (label, minion), (_, failed) in last.items():
            if failed:
                found[label].add(minion)
        return {label: frozenset(those) for label, those in found.items()}

    def since(self, time: float, head: str, limit: int) -> list[Event]:
        """The newest events from a time on (seconds since the epoch) whose tag begins so, newest first."""
        about = select(events).where(events.c.time >= time, events.c.tag.startswith(head, autoescape=True))
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(about.order_by(events.c.id.desc()).limit(limit))]

    def after(self, event_id: int, head: str, limit: int) -> list[Event]:
        """The first events after one whose tag begins so, oldest first."""
        about = select(events).where(events.c.id > event_id, events.c.tag.startswith(head, autoescape=True))
        with self.database.read() as connection:
            return [_event(row) for row in connection.execute(about.order_by(events.c.id).limit(limit))]

    def prune(self, before: float, most: int) -> int:
        """Forget events from before a time (seconds since the epoch), and what is more than `most`; how many.

        Durable ones are not among the latter. Of more than `most`, the oldest of the minions that have most of them are
        forgotten, and an eighth beyond, so that events are counted by their minions once in so many new ones. Key
        requests count as one minion's.
        """
        gone = self._drop_old(before)
        if self._total() > most:
            shares = self._shares()
            fair = fair_share(shares.values(), most - most // _ROOM)
            for owner, count in shares.items():
                gone += self._drop(_oldest_of(owner), count - fair)
        self._kept.total = None
        return gone

    def prune_durable(self, most: int) -> int:
        """Forget the oldest durable events of more than so many; how many."""
        durable = events.c.durable != 0
        with self.database.read() as connection:
            count = connection.scalar(select(func.count()).where(durable)) or 0
        return self._drop(select(events.c.id).where(durable).order_by(events.c.id), max(0, count - most))

    def _drop_old(self, before: float) -> int:
        """Ids rise with the time, so the first that is young ends the search."""
        with self.database.read() as connection:
            young = connection.scalar(select(events.c.id).where(events.c.time >= before).order_by(events.c.id).limit(1))
        limit = self.last_id() + 1 if young is None else young
        return self._drop(select(events.c.id).where(events.c.id < limit), None)

    def _total(self) -> int:
        if self._kept.total is None:
            with self.database.read() as connection:
                self._kept.total = connection.scalar(select(func.count()).where(_ORDINARY)) or 0
        return self._kept.total

    def _shares(self) -> dict[str, int]:
        """Minion -> number of its events; those of all strangers under the tag of key requests."""
        owner = case((events.c.tag == KEY_REQUEST, KEY_REQUEST), else_=events.c.minion)
        with self.database.read() as connection:
            return {
                str(row[0]): int(row[1])
                for row in connection.execute(select(owner, func.count()).where(_ORDINARY).group_by(owner))
            }

    def _drop(self, oldest: Select[tuple[int]], count: int | None) -> int:
        """Forget so many of these events, in transactions that hold up nobody; None: all."""
        gone = 0
        while count is None or gone < count:
            step = _AT_ONCE if count is None else min(_AT_ONCE, count - gone)
            with self.database.write() as connection:
                done = connection.execute(delete(events).where(events.c.id.in_(oldest.limit(step)))).rowcount
            gone += done
            if done < step:
                break
        return gone


def _oldest_of(owner: str) -> Select[tuple[int]]:
    about = events.c.tag == KEY_REQUEST if owner == KEY_REQUEST else events.c.minion == owner
    others = about if owner == KEY_REQUEST else and_(about, events.c.tag != KEY_REQUEST)
    return select(events.c.id).where(others, _ORDINARY).order_by(events.c.id)


def _values(event: Event) -> dict[str, Any]:
    data = _packed(event)
    return {
        "id": event.id,
        "tag": event.tag[:255],
        "time": event.time,
        "cause": event.cause,
        "revision": event.revision[:64],
        "minion": event.minion[:255],
        "data": data if len(data) <= _MOST_BYTES or event.durable else msgspec.msgpack.encode({}),
        "durable": _UNANSWERED if event.durable else 0,
    }


def _packed(event: Event) -> bytes:
    """The data of an event; what the store cannot hold stands in it as text. One event must not keep out the others."""
    try:
        return msgspec.msgpack.encode(dict(event.data))
    except (OverflowError, TypeError, ValueError, RecursionError):
        pass
    try:
        return msgspec.msgpack.encode(storable(dict(event.data)))
    except (OverflowError, TypeError, ValueError, RecursionError):
        return msgspec.msgpack.encode({})


def _event(row: Row[Any]) -> Event:
    data = msgspec.msgpack.decode(row.data, strict=False)
    durable = row.durable != 0
    return Event(
        id=row.id, tag=row.tag, time=row.time, data=data, cause=row.cause, revision=row.revision, durable=durable
    )
