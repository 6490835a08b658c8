"""What minions have put into the mine, by function and minion. Called by `Store`."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import msgspec
from sqlalchemy import Connection, delete, insert, select

from controller.store.schema import mines, minions
from wire.messages import MineEntry

_DECODER = msgspec.msgpack.Decoder(MineEntry)


def put(connection: Connection, minion_id: str, entries: Mapping[str, MineEntry]) -> set[str]:
    """Keep these entries as all that the minion has; the functions whose entries are others than before."""
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


def of(connection: Connection, functions: Collection[str]) -> dict[str, dict[str, MineEntry]]:
    """Function -> minion -> entry, minions by id; of minions whose key is not accepted too."""
    query = select(mines).where(mines.c.fun.in_(functions)).order_by(mines.c.minion)
    found: dict[str, dict[str, MineEntry]] = {}
    for row in connection.execute(query):
        found.setdefault(row.fun, {})[row.minion] = _DECODER.decode(row.entry)
    return found


def all_of(connection: Connection, minion_id: str) -> dict[str, MineEntry]:
    """Function -> entry of one minion."""
    query = select(mines).where(mines.c.minion == minion_id).order_by(mines.c.fun)
    return {row.fun: _DECODER.decode(row.entry) for row in connection.execute(query)}
