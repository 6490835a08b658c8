"""Rollouts, packed: the newest is the one that goes on."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from controller.store.database import Database
from controller.store.schema import rollouts


@dataclass(frozen=True, slots=True)
class RolloutTable:
    """The table of rollouts. Records are what `controller.rollouts` packs."""

    database: Database

    def put(self, rollout_id: str, record: bytes) -> None:
        """Keep a rollout in the place of what was kept of it."""
        known = update(rollouts).where(rollouts.c.id == rollout_id).values(record=record)
        with self.database.write() as connection:
            if connection.execute(known).rowcount == 0:
                connection.execute(insert(rollouts).values(id=rollout_id, record=record))

    def newest(self, most: int) -> list[bytes]:
        """The newest first."""
        query = select(rollouts.c.record).order_by(rollouts.c.seq.desc()).limit(most)
        with self.database.read() as connection:
            return list(connection.scalars(query))

    def get(self, rollout_id: str) -> bytes | None:
        """One of them."""
        with self.database.read() as connection:
            return connection.scalar(select(rollouts.c.record).where(rollouts.c.id == rollout_id))

    def prune(self, keep: int) -> int:
        """Forget all but the newest; returns how many."""
        newest = select(rollouts.c.seq).order_by(rollouts.c.seq.desc()).limit(keep)
        with self.database.write() as connection:
            return connection.execute(delete(rollouts).where(rollouts.c.seq.not_in(newest))).rowcount
