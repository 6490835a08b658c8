"""What was decided about requests of people: rows are only added, each with a digest of itself and the row before it.

A row that is changed or taken out of the middle breaks the chain, which `verify` finds. Rows are forgotten at the
beginning alone, when there are too many.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
from sqlalchemy import Row, delete, insert, select

from controller.store.database import Database
from controller.store.schema import audit_log

_TOGETHER = 1000
"""Rows that are read at a time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRecord:
    """A decision."""

    time: float
    """Seconds since the epoch."""
    user: str
    method: str
    token: str
    action: str
    detail: str
    """JSON of what was asked, as far as it is kept."""
    allowed: bool
    why: str
    address: str = ""
    """Where the request came from, when it came over the network."""
    request: str = ""
    """Id of the request."""
    seq: int = 0
    digest: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditQuery:
    """Which rows."""

    since: float = 0.0
    """Seconds since the epoch."""
    user: str = ""
    denied: bool = False
    """Refusals alone."""
    after: int = 0
    """Rows with a higher number."""
    limit: int = 100


@dataclass(frozen=True, slots=True)
class AuditLog:
    """The table of decisions."""

    database: Database

    def add(self, record: AuditRecord, most: int) -> None:
        """Keep a decision; `most`: rows that are kept."""
        with self.database.write() as connection:
            newest = select(audit_log.c.seq, audit_log.c.digest).order_by(audit_log.c.seq.desc()).limit(1)
            last = connection.execute(newest).first()
            digest = _digest(last.digest if last is not None else b"", record)
            values = {name: getattr(record, name) for name in (*_NAMES, *_LATER)}
            connection.execute(insert(audit_log).values(**values, digest=digest))
            if last is not None and last.seq >= most:
                connection.execute(delete(audit_log).where(audit_log.c.seq <= last.seq + 1 - most))

    def newest(self, query: AuditQuery) -> list[AuditRecord]:
        """The newest rows, oldest of them first. For threads."""
        found = select(audit_log).where(audit_log.c.time >= query.since, audit_log.c.seq > query.after)
        if query.user:
            found = found.where(audit_log.c.user == query.user)
        if query.denied:
            found = found.where(~audit_log.c.allowed)
        with self.database.read_aside() as connection:
            rows = connection.execute(found.order_by(audit_log.c.seq.desc()).limit(query.limit)).all()
        return [_record(row) for row in reversed(rows)]

    def from_row(self, seq: int) -> list[AuditRecord]:
        """A row and the next ones, oldest first; some at a time."""
        query = select(audit_log).where(audit_log.c.seq >= seq).order_by(audit_log.c.seq).limit(_TOGETHER)
        with self.database.read_aside() as connection:
            return [_record(row) for row in connection.execute(query)]


_NAMES = ("time", "user", "method", "token", "action", "detail", "allowed", "why")
_LATER = ("address", "request")
"""Columns that older rows have not; where they are empty the digest is that of before."""


def broken_links(rows: Iterator[AuditRecord]) -> Iterator[int]:
    """Numbers of rows, given in order, that are not what they were, or before which some are missing."""
    before: bytes | None = None
    for row in rows:
        if before is not None and row.digest != _digest(before, row):
            yield row.seq
        before = row.digest


def _digest(before: bytes, record: AuditRecord) -> bytes:
    later = [getattr(record, name) for name in _LATER]
    packed = msgspec.json.encode([getattr(record, name) for name in _NAMES] + (later if any(later) else []))
    return hashlib.sha256(before + packed).digest()


def _record(row: Row[tuple[object, ...]]) -> AuditRecord:
    return AuditRecord(**dict(row._mapping))
