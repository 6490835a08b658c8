"""Orchestrations that have not ended, and their steps: what a controller needs to go on with them after a restart."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec
from sqlalchemy import Row, delete, insert, select, update

from controller.store.database import Database
from controller.store.schema import orchestration_steps, orchestrations


@dataclass(frozen=True, slots=True, kw_only=True)
class OrchestrationRecord:
    """One that has begun and not ended."""

    jid: str
    fun: str
    """The runner that was called."""
    user: str
    created: float
    """Seconds since the epoch."""
    sls: str
    """What it runs, as people read it."""
    low: Sequence[Mapping[str, Any]] = field(repr=False)
    """Its steps in order, as `Chunk.as_salt` gives them."""
    options: Mapping[str, Any] = field(default_factory=dict)
    controls: Mapping[str, Any] = field(default_factory=dict)
    """Id of a step, or `__all__`, -> when a pause ends (seconds since the epoch, None: never), or `kill`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """A step that was begun."""

    key: str
    started: float
    """Seconds since the epoch."""
    asked: Any = None
    """Which minions it asks, and in which job; written before any is asked."""
    result: Any = None
    """None while it goes on."""


@dataclass(frozen=True, slots=True)
class Orchestrations:
    """The tables of orchestrations and of their steps."""

    database: Database

    def create(self, record: OrchestrationRecord) -> None:
        """Keep a new one."""
        with self.database.write() as connection:
            connection.execute(
                insert(orchestrations).values(
                    jid=record.jid,
                    fun=record.fun,
                    user=record.user,
                    created=record.created,
                    sls=record.sls,
                    low=_pack(list(record.low)),
                    options=_pack(dict(record.options)),
                    controls=_pack(dict(record.controls)),
                )
            )

    def get(self, jid: str) -> OrchestrationRecord | None:
        """One that has not ended."""
        with self.database.read() as connection:
            row = connection.execute(select(orchestrations).where(orchestrations.c.jid == jid)).first()
        return None if row is None else _record(row)

    def all(self) -> list[OrchestrationRecord]:
        """Those that have not ended, the oldest first."""
        with self.database.read() as connection:
            return [_record(row) for row in connection.execute(select(orchestrations).order_by(orchestrations.c.seq))]

    def control(self, jid: str, controls: Mapping[str, Any]) -> bool:
        """Set its pauses; False when there is no such one."""
        change = update(orchestrations).where(orchestrations.c.jid == jid).values(controls=_pack(dict(controls)))
        with self.database.write() as connection:
            return connection.execute(change).rowcount > 0

    def begin_step(self, jid: str, key: str, started: float) -> StepRecord:
        """A step begins; what is known of it when it began before."""
        with self.database.write() as connection:
            row = connection.execute(select(orchestration_steps).filter_by(jid=jid, key=key)).first()
            if row is not None:
                return _step(row)
            connection.execute(insert(orchestration_steps).values(jid=jid, key=key, started=started))
        return StepRecord(key=key, started=started)

    def ask_step(self, jid: str, key: str, asked: Any) -> None:
        """Keep whom a step asks."""
        self._change(jid, key, asked=_pack(asked))

    def end_step(self, jid: str, key: str, result: Any) -> None:
        """Keep the result of a step."""
        self._change(jid, key, result=_pack(result))

    def steps(self, jid: str) -> list[StepRecord]:
        """The steps that were begun, in that order."""
        query = select(orchestration_steps).filter_by(jid=jid).order_by(orchestration_steps.c.seq)
        with self.database.read() as connection:
            return [_step(row) for row in connection.execute(query)]

    def end(self, jid: str) -> None:
        """Forget one that has ended: its result is in the history."""
        with self.database.write() as connection:
            connection.execute(delete(orchestration_steps).filter_by(jid=jid))
            connection.execute(delete(orchestrations).filter_by(jid=jid))

    def _change(self, jid: str, key: str, **values: bytes) -> None:
        with self.database.write() as connection:
            connection.execute(update(orchestration_steps).filter_by(jid=jid, key=key).values(**values))


def _record(row: Row[Any]) -> OrchestrationRecord:
    return OrchestrationRecord(
        jid=row.jid,
        fun=row.fun,
        user=row.user,
        created=row.created,
        sls=row.sls,
        low=_unpack(row.low),
        options=_unpack(row.options),
        controls=_unpack(row.controls),
    )


def _step(row: Row[Any]) -> StepRecord:
    return StepRecord(key=row.key, started=row.started, asked=_unpack(row.asked), result=_unpack(row.result))


def _pack(value: Any) -> bytes:
    return zlib.compress(msgspec.msgpack.encode(value), 1)


def _unpack(packed: bytes | None) -> Any:
    return None if packed is None else msgspec.msgpack.decode(zlib.decompress(packed), strict=False)
