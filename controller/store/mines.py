"""What minions have put into the mine, by function and minion."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import msgspec
from sqlalchemy import delete, insert, select

from controller.store.database import Database
from controller.store.schema import mines, minions
from wire.messages import MineEntry

_DECODER = msgspec.msgpack.Decoder(MineEntry)


@dataclass(frozen=True, slots=True)
class Mines:
    """The table of mine entries."""

    database: Database

    def put(self, minion_id: str, entries: Mapping[str, MineEntry]) -> set[str]:
        """Keep these entries as all that the minion has; returns the functions whose entries changed.

        Nothing is kept of a minion that the store does not know.
        """
        with self.database.write() as connection:
            if connection.scalar(select(minions.c.id).where(minions.c.id == minion_id)) is None:
                return set()
            rows = connection.execute(select(mines.c.fun, mines.c.entry).where(mines.c.minion == minion_id))
            before: dict[str, bytes] = {row.fun: row.entry for row in rows}
            now = {fun: msgspec.msgpack.encode(entry) for fun, entry in entries.items()}
            changed = {fun for fun in {*before, *now} if before.get(fun) != now.get(fun)}
            if changed:
                connection.execute(delete(mines).where(mines.c.minion == minion_id))
            if changed and now:
                new = [{"minion": minion_id, "fun": fun, "entry": entry} for fun, entry in now.items()]
                connection.execute(insert(mines), new)
            return changed

    def by_function(self, functions: Collection[str]) -> dict[str, dict[str, MineEntry]]:
        """Function -> minion -> entry, minions by id; also of minions whose key is not accepted."""
        query = select(mines).where(mines.c.fun.in_(functions)).order_by(mines.c.minion)
        found: dict[str, dict[str, MineEntry]] = {}
        with self.database.read() as connection:
            for row in connection.execute(query):
                found.setdefault(row.fun, {})[row.minion] = _DECODER.decode(row.entry)
        return found

    def of(self, minion_id: str) -> dict[str, MineEntry]:
        """Function -> entry of one minion."""
        query = select(mines).where(mines.c.minion == minion_id).order_by(mines.c.fun)
        with self.database.read() as connection:
            return {row.fun: _DECODER.decode(row.entry) for row in connection.execute(query)}
