"""Jobs as they were asked for: of whom, of whose target, with which metadata. What came of them is in the runs."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Row, bindparam, delete, exists, func, insert, select

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import jobs, runs

_WITHOUT_RUNS = 1000
"""The newest jobs are kept though no run of theirs is: those of a batch come later."""


# Made once, for what each job and each return asks: to make a statement takes longer than to carry it out.
_OF_JOB = jobs.c.jid == bindparam("of")
_SEQ = select(jobs.c.seq).where(_OF_JOB)
_CREATE = insert(jobs)
_METADATA = select(jobs.c.metadata).where(_OF_JOB)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """What somebody asked minions for."""

    jid: str
    fun: str
    args: str
    """As one would type them, without passwords."""
    tgt: str
    tgt_type: str
    user: str
    created: float
    """Seconds since the epoch."""
    minions: tuple[str, ...] = ()
    """Whom the target meant then."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class JobTable:
    """The table of jobs."""

    database: Database

    def create(self, record: JobRecord) -> bool:
        """Keep a new job; False when its id is known, and nothing is changed."""
        values = {name: getattr(record, name) for name in ("jid", "fun", "args", "tgt", "tgt_type", "user", "created")}
        values["minions"] = zlib.compress(msgspec.msgpack.encode(record.minions), 1)
        values["metadata"] = msgspec.msgpack.encode(record.metadata) if record.metadata else None
        with self.database.write() as connection:
            if connection.scalar(_SEQ, {"of": record.jid}) is not None:
                return False
            connection.execute(_CREATE, values)
        return True

    def get(self, jid: str) -> JobRecord | None:
        """A job by its id."""
        return self.many([jid]).get(jid)

    def many(self, jids: Collection[str]) -> dict[str, JobRecord]:
        """Those of these jobs that are known."""
        found: dict[str, JobRecord] = {}
        with self.database.read() as connection:
            for part in chunks(list(jids)):
                found |= {row.jid: _job(row) for row in connection.execute(select(jobs).where(jobs.c.jid.in_(part)))}
        return found

    def metadata(self, jid: str) -> Mapping[str, Any]:
        """What somebody gave a job along; empty where that was nothing."""
        with self.database.read() as connection:
            found = connection.scalar(_METADATA, {"of": jid})
        return msgspec.msgpack.decode(found, type=dict[str, Any]) if found else {}

    def prune(self) -> int:
        """Forget jobs of which no run is kept, but for the newest; how many."""
        edge = select(func.max(jobs.c.seq)).scalar_subquery() - _WITHOUT_RUNS
        old = delete(jobs).where(jobs.c.seq <= edge, ~exists().where(runs.c.job == jobs.c.jid))
        with self.database.write() as connection:
            return connection.execute(old).rowcount


def _job(row: Row[Any]) -> JobRecord:
    values = {name: value for name, value in row._mapping.items() if name != "seq"}
    values["minions"] = msgspec.msgpack.decode(zlib.decompress(row.minions), type=tuple[str, ...])
    values["metadata"] = msgspec.msgpack.decode(row.metadata, type=dict[str, Any]) if row.metadata else {}
    return JobRecord(**values)
