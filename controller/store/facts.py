"""What functions gave on minions when templates asked, by minion and query."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, bindparam, delete, func, insert, select

from controller.store.database import Database
from controller.store.records import FactRecord
from controller.store.schema import facts, minions
from wire.messages import FactAnswer, FactQuery

_DECODER = msgspec.msgpack.Decoder(FactAnswer)


@dataclass(frozen=True, slots=True)
class FactsTable:
    """The table of recorded answers."""

    database: Database

    def by_minion(self, minion_ids: Collection[str] | None = None) -> dict[str, list[FactRecord]]:
        """The last answers of these minions (None: of all); those that have none are left out."""
        query = select(facts).order_by(facts.c.minion, facts.c.fun, facts.c.asked)
        if minion_ids is not None and len(minion_ids) == 1:
            query = query.where(facts.c.minion.in_(minion_ids))
        found: dict[str, list[FactRecord]] = {}
        with self.database.read() as connection:
            for row in connection.execute(query):
                if minion_ids is None or row.minion in minion_ids:
                    found.setdefault(row.minion, []).append(_record(row))
        return found

    def of_function(self, fun: str) -> list[tuple[str, FactRecord]]:
        """The last answers of one function, each with its minion."""
        query = select(facts).where(facts.c.fun == fun).order_by(facts.c.asked, facts.c.minion)
        with self.database.read() as connection:
            return [(row.minion, _record(row)) for row in connection.execute(query)]

    def oldest(self, minion_ids: Collection[str] | None = None) -> dict[str, dict[str, float]]:
        """Minion -> function -> time of its oldest answer, of these minions (None: of all)."""
        oldest = func.min(facts.c.at).label("at")
        query = select(facts.c.minion, facts.c.fun, oldest).group_by(facts.c.minion, facts.c.fun)
        found: dict[str, dict[str, float]] = {}
        with self.database.read() as connection:
            for row in connection.execute(query.order_by(facts.c.minion, facts.c.fun)):
                if minion_ids is None or row.minion in minion_ids:
                    found.setdefault(row.minion, {})[row.fun] = row.at
        return found

    def put(self, minion_id: str, answers: Mapping[FactQuery, FactAnswer], now: float) -> None:
        """Keep answers in the place of earlier ones; nothing of a minion that the store does not know."""
        with self.database.write() as connection:
            if not answers or connection.scalar(select(minions.c.id).where(minions.c.id == minion_id)) is None:
                return
            _drop(connection, minion_id, list(answers))
            rows = [
                {
                    "minion": minion_id,
                    "fun": query.fun,
                    "asked": query.asked,
                    "answer": msgspec.msgpack.encode(answer),
                    "at": now,
                }
                for query, answer in answers.items()
            ]
            connection.execute(insert(facts), rows)

    def drop(self, minion_id: str, queries: Sequence[FactQuery]) -> None:
        """Forget the answers to these queries."""
        with self.database.write() as connection:
            _drop(connection, minion_id, queries)


def _drop(connection: Connection, minion_id: str, queries: Sequence[FactQuery]) -> None:
    if queries:
        gone = delete(facts).where(
            facts.c.minion == minion_id, facts.c.fun == bindparam("f"), facts.c.asked == bindparam("a")
        )
        connection.execute(gone, [{"f": each.fun, "a": each.asked} for each in queries])


def _record(row: Row[Any]) -> FactRecord:
    query = FactQuery(fun=row.fun, asked=row.asked)
    return FactRecord(question=query, answer=_DECODER.decode(row.answer), at=row.at)
