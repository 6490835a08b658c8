"""Notifications: groups of what was told, and the spool of messages that wait for their receivers.

Groups and the messages that came of them are kept in one transaction, so that kill -9 loses neither and makes no
message twice. The store does not look into records and messages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlalchemy import Connection, Row, delete, func, insert, select, update

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import notification_groups, notification_marks, notification_spool

SpoolState: TypeAlias = Literal["waiting", "dead"]
_spool = notification_spool.c


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolEntry:
    """A message, and how far it is. Times are seconds since the epoch."""

    id: str
    receiver: str
    created: float
    body: bytes
    next_at: float = 0.0
    """Before which it is not tried."""
    attempts: int = 0
    state: SpoolState = "waiting"
    error: str = ""
    """Why the last attempt failed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolRoom:
    """What may be kept."""

    entries: int
    """Messages that wait for one receiver."""
    size: int
    """Bytes of these."""
    dead: int
    """Messages of all receivers that were given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolCount:
    """What the spool has for one receiver."""

    receiver: str
    waiting: int = 0
    size: int = 0
    oldest: float | None = None
    """When the oldest that waits was made."""
    dead: int = 0


@dataclass(frozen=True, slots=True)
class Notifications:
    """The tables of notifications."""

    database: Database

    def groups(self) -> dict[str, bytes]:
        """Key -> record of all groups."""
        with self.database.read() as connection:
            rows = connection.execute(select(notification_groups))
            return {row.key: row.record for row in rows}

    def marks(self) -> dict[str, str]:
        """Name -> what was seen last of something that happens once."""
        with self.database.read() as connection:
            return {row.name: row.value for row in connection.execute(select(notification_marks))}

    def keep(
        self,
        groups: Mapping[str, bytes],
        ended: Sequence[str],
        marks: Mapping[str, str],
        messages: Sequence[SpoolEntry],
        room: SpoolRoom,
    ) -> dict[str, int]:
        """Keep what came of a look, all or nothing; receiver -> messages that had to make room.

        Args:
            groups: key -> record of those that are new or have changed.
            ended: keys of those that are forgotten.
            marks: name -> what was seen.
            messages: for the spool; one whose id is there is not added again.
            room: of the spool; of more, the oldest of the receiver are dropped.
        """
        with self.database.write() as connection:
            gone = [*groups, *ended]
            for part in chunks(gone):
                connection.execute(delete(notification_groups).where(notification_groups.c.key.in_(part)))
            if rows := [{"key": key, "record": record} for key, record in groups.items()]:
                connection.execute(insert(notification_groups), rows)
            for name, value in marks.items():
                connection.execute(delete(notification_marks).where(notification_marks.c.name == name))
                connection.execute(insert(notification_marks).values(name=name, value=value))
            for message in messages:
                self._add(connection, message)
            return {name: self._make_room(connection, name, room) for name in {each.receiver for each in messages}}

    def put(self, message: SpoolEntry, room: SpoolRoom) -> int:
        """Add one message; how many had to make room."""
        return self.keep({}, (), {}, [message], room)[message.receiver]

    def _add(self, connection: Connection, message: SpoolEntry) -> None:
        if connection.scalar(select(_spool.seq).where(_spool.id == message.id)) is None:
            values = {
                "id": message.id,
                "receiver": message.receiver,
                "size": len(message.body),
                "created": message.created,
                "next_at": message.next_at,
                "attempts": message.attempts,
                "state": message.state,
                "error": message.error,
                "body": message.body,
            }
            connection.execute(insert(notification_spool).values(values))

    def _make_room(self, connection: Connection, receiver: str, room: SpoolRoom) -> int:
        waiting = (_spool.receiver == receiver, _spool.state == "waiting")
        rows = connection.execute(select(_spool.seq, _spool.size).where(*waiting).order_by(_spool.seq.desc())).all()
        kept, size = 0, 0
        for row in rows:
            size += row.size
            if kept >= room.entries or size > room.size:
                break
            kept += 1
        for drop in rows[kept:]:
            connection.execute(delete(notification_spool).where(_spool.seq == drop.seq))
        return len(rows) - kept

    def next_of(self, receiver: str) -> SpoolEntry | None:
        """The oldest message that waits for a receiver: they are sent in their order."""
        query = (
            select(notification_spool)
            .where(_spool.receiver == receiver, _spool.state == "waiting")
            .order_by(_spool.seq)
            .limit(1)
        )
        with self.database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else _entry(row)

    def receivers(self) -> list[str]:
        """Those for which messages wait."""
        with self.database.read() as connection:
            return list(connection.scalars(select(_spool.receiver).where(_spool.state == "waiting").distinct()))

    def begin(self, message: str) -> None:
        """An attempt begins. A controller that no longer leads is refused here, before it sends."""
        self._change(message, attempts=_spool.attempts + 1)

    def sent(self, message: str) -> None:
        """A message was taken."""
        with self.database.write() as connection:
            connection.execute(delete(notification_spool).where(_spool.id == message))

    def failed(self, message: str, error: str, next_at: float) -> None:
        """An attempt failed; the next is not before that time."""
        self._change(message, error=error, next_at=next_at)

    def give_up(self, message: str, error: str, room: SpoolRoom) -> None:
        """A message is not sent any more; it is shown as long as there is room."""
        with self.database.write() as connection:
            connection.execute(update(notification_spool).where(_spool.id == message).values(state="dead", error=error))
            newest = select(_spool.seq).where(_spool.state == "dead").order_by(_spool.seq.desc()).limit(room.dead)
            old = delete(notification_spool).where(_spool.state == "dead", _spool.seq.not_in(newest.scalar_subquery()))
            connection.execute(old)

    def retry(self, message: str) -> bool:
        """Have a message that was given up wait again; whether there is one."""
        with self.database.write() as connection:
            found = update(notification_spool).where(_spool.id == message, _spool.state == "dead")
            return connection.execute(found.values(state="waiting", attempts=0, next_at=0.0)).rowcount > 0

    def counts(self) -> list[SpoolCount]:
        """What waits and what was given up, by receiver."""
        query = select(
            _spool.receiver, _spool.state, func.count(), func.sum(_spool.size), func.min(_spool.created)
        ).group_by(_spool.receiver, _spool.state)
        found: dict[str, dict[str, tuple[int, int, float]]] = {}
        with self.database.read() as connection:
            for receiver, state, count, size, oldest in connection.execute(query):
                found.setdefault(receiver, {})[state] = (count, int(size), oldest)
        return [
            SpoolCount(
                receiver=name,
                waiting=states.get("waiting", (0, 0, 0.0))[0],
                size=states.get("waiting", (0, 0, 0.0))[1],
                oldest=states["waiting"][2] if "waiting" in states else None,
                dead=states.get("dead", (0, 0, 0.0))[0],
            )
            for name, states in sorted(found.items())
        ]

    def newest(self, most: int) -> list[SpoolEntry]:
        """The newest messages of the spool, the newest first."""
        with self.database.read() as connection:
            rows = connection.execute(select(notification_spool).order_by(_spool.seq.desc()).limit(most)).all()
        return [_entry(row) for row in rows]

    def _change(self, message: str, **values: object) -> None:
        with self.database.write() as connection:
            connection.execute(update(notification_spool).where(_spool.id == message).values(values))


def _entry(row: Row[tuple[object, ...]]) -> SpoolEntry:
    found = dict(row._mapping)
    del found["seq"], found["size"]
    return SpoolEntry(**found)
