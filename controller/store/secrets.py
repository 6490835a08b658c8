"""Plain texts that compiles had of GnuPG and of a vault, by minion: to be recognised, not to be used.

Called by `Store`. They lie in the documents of the same database as well.
"""

from __future__ import annotations

from collections.abc import Iterable

from sqlalchemy import Connection, delete, insert, select

from controller.store.schema import minions, secrets

MOST = 4096
"""Of one minion. Those that were learned first are forgotten."""


def put(connection: Connection, minion_id: str, texts: Iterable[str]) -> bool:
    """Remember these texts; whether any of them is new."""
    new = {each.encode("utf-8", "surrogatepass") for each in texts} - _texts(connection, minion_id)
    if not new or connection.scalar(select(minions.c.id).where(minions.c.id == minion_id)) is None:
        return False
    connection.execute(insert(secrets), [{"minion": minion_id, "text": each} for each in sorted(new)])
    kept = select(secrets.c.id).where(secrets.c.minion == minion_id).order_by(secrets.c.id.desc()).limit(MOST)
    connection.execute(delete(secrets).where(secrets.c.minion == minion_id, secrets.c.id.not_in(kept)))
    return True


def of(connection: Connection, minion_id: str) -> frozenset[str]:
    """The texts of one minion."""
    return frozenset(each.decode("utf-8", "surrogatepass") for each in _texts(connection, minion_id))


def _texts(connection: Connection, minion_id: str) -> set[bytes]:
    return set(connection.scalars(select(secrets.c.text).where(secrets.c.minion == minion_id)))
