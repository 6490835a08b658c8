"""Plain texts that compiles had of GnuPG and of a vault, by minion: to be recognised, not to be used.

They lie in the documents of the same database as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Connection, LargeBinary, delete, func, insert, literal, select

from controller.store.column_types import INTEGER
from controller.store.database import Database
from controller.store.schema import minions, secrets

MOST = 4096
"""Of one minion. Those that were learned first are forgotten."""


@dataclass(frozen=True, slots=True)
class SecretsTable:
    """The table of plain texts."""

    database: Database

    def put(self, texts: Mapping[str, Iterable[str]]) -> list[str]:
        """Remember the plain texts of each minion; returns the minions for which any of them is new."""
        with self.database.write() as connection:
            return [minion_id for minion_id, each in texts.items() if _put(connection, minion_id, each)]

    def of(self, minion_id: str) -> frozenset[str]:
        """All plain texts that compiles for the minion had."""
        return self.of_each((minion_id,))[minion_id]

    def of_each(self, minion_ids: Collection[str]) -> dict[str, frozenset[str]]:
        """The same of several minions, in one read."""
        found: dict[str, set[str]] = {minion: set() for minion in minion_ids}
        with self.database.read() as connection:
            for minion, text in connection.execute(
                select(secrets.c.minion, secrets.c.text).where(secrets.c.minion.in_(found))
            ):
                found[minion].add(text.decode("utf-8", "surrogatepass"))
        return {minion: frozenset(texts) for minion, texts in found.items()}

    def in_text(self, text: str) -> frozenset[str]:
        """Those of all minions that stand in a text."""
        looked = text.encode("utf-8", "surrogatepass")
        with self.database.read() as connection:
            query = select(secrets.c.text).distinct().where(_place_in(connection, looked) > 0)
            return frozenset(each.decode("utf-8", "surrogatepass") for each in connection.scalars(query))


def _put(connection: Connection, minion_id: str, texts: Iterable[str]) -> bool:
    new = {each.encode("utf-8", "surrogatepass") for each in texts} - _texts(connection, minion_id)
    if not new or connection.scalar(select(minions.c.id).where(minions.c.id == minion_id)) is None:
        return False
    connection.execute(insert(secrets), [{"minion": minion_id, "text": each} for each in sorted(new)])
    kept = select(secrets.c.id).where(secrets.c.minion == minion_id).order_by(secrets.c.id.desc()).limit(MOST)
    connection.execute(delete(secrets).where(secrets.c.minion == minion_id, secrets.c.id.not_in(kept)))
    return True


def _texts(connection: Connection, minion_id: str) -> set[bytes]:
    return set(connection.scalars(select(secrets.c.text).where(secrets.c.minion == minion_id)))


def _place_in(connection: Connection, text: bytes) -> ColumnElement[int]:
    """Where a secret begins in a text, from 1; 0: nowhere. Both databases compare bytes, and name it otherwise."""
    looked = literal(text, LargeBinary())
    if connection.dialect.name == "postgresql":
        return func.position(secrets.c.text.op("IN")(looked), type_=INTEGER)
    return func.instr(looked, secrets.c.text, type_=INTEGER)
