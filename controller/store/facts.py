"""What functions of the live machine gave, by minion and question. Called by `Store`."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, select

from controller.store.records import FactRecord
from controller.store.schema import facts, minions
from wire.messages import FactAnswer, FactQuery

_DECODER = msgspec.msgpack.Decoder(FactAnswer)


def of(connection: Connection, minion_ids: Collection[str] | None) -> dict[str, list[FactRecord]]:
    """The answers of these minions (None: of all); those that have none are left out."""
    query = select(facts).order_by(facts.c.minion, facts.c.fun, facts.c.asked)
    if minion_ids is not None and len(minion_ids) == 1:
        query = query.where(facts.c.minion.in_(minion_ids))
    found: dict[str, list[FactRecord]] = {}
    for row in connection.execute(query):
        if minion_ids is None or row.minion in minion_ids:
            question = FactQuery(fun=row.fun, asked=row.asked)
            record = FactRecord(question=question, answer=_DECODER.decode(row.answer), at=row.at)
            found.setdefault(row.minion, []).append(record)
    return found


def of_function(connection: Connection, fun: str) -> list[tuple[str, FactRecord]]:
    """The answers of one function, with whose they are."""
    query = select(facts).where(facts.c.fun == fun).order_by(facts.c.asked, facts.c.minion)
    return [
        (
            row.minion,
            FactRecord(question=FactQuery(fun=fun, asked=row.asked), answer=_DECODER.decode(row.answer), at=row.at),
        )
        for row in connection.execute(query)
    ]


def functions(connection: Connection, minion_ids: Collection[str] | None) -> dict[str, dict[str, float]]:
    """Minion -> function -> time of its oldest answer."""
    query = select(facts.c.minion, facts.c.fun, func.min(facts.c.at).label("at")).group_by(facts.c.minion, facts.c.fun)
    found: dict[str, dict[str, float]] = {}
    for row in connection.execute(query.order_by(facts.c.minion, facts.c.fun)):
        if minion_ids is None or row.minion in minion_ids:
            found.setdefault(row.minion, {})[row.fun] = row.at
    return found


def put(connection: Connection, minion_id: str, answers: Mapping[FactQuery, FactAnswer], now: float) -> None:
    """Keep answers in the place of earlier ones; nothing of a minion that was forgotten meanwhile."""
    if connection.scalar(select(minions.c.id).where(minions.c.id == minion_id)) is None or not answers:
        return
    drop(connection, minion_id, list(answers))
    rows = [
        {
            "minion": minion_id,
            "fun": question.fun,
            "asked": question.asked,
            "answer": msgspec.msgpack.encode(answer),
            "at": now,
        }
        for question, answer in answers.items()
    ]
    connection.execute(insert(facts), rows)


def drop(connection: Connection, minion_id: str, questions: Sequence[FactQuery]) -> None:
    """Forget the answers to some questions."""
    if questions:
        gone = delete(facts).where(
            facts.c.minion == minion_id, facts.c.fun == bindparam("f"), facts.c.asked == bindparam("a")
        )
        connection.execute(gone, [{"f": each.fun, "a": each.asked} for each in questions])
