"""What was seen of states that drifted, by minion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from sqlalchemy import bindparam, delete, insert, select

from controller.store.database import Database
from controller.store.records import Past, SeenState
from controller.store.rows import chunks
from controller.store.schema import drift_pasts, minions

_DECODER = msgspec.msgpack.Decoder(dict[str, tuple[SeenState, ...]])
_OF = drift_pasts.c.minion == bindparam("of")
_GET = select(drift_pasts.c.states).where(_OF)
_OF_EACH = select(drift_pasts).where(drift_pasts.c.minion.in_(bindparam("ids", expanding=True)))
_DELETE = delete(drift_pasts).where(_OF)
_KNOWN = select(minions.c.id).where(minions.c.id == bindparam("of"))
_PUT = insert(drift_pasts)


@dataclass(frozen=True, slots=True)
class DriftPasts:
    """The table of them; bounded by `controller.observe.drift_classes`."""

    database: Database

    def of(self, minion: str) -> Past:
        """That of a minion."""
        with self.database.read() as connection:
            blob = connection.scalar(_GET, {"of": minion})
        return {} if blob is None else _DECODER.decode(blob)

    def of_each(self, of: Sequence[str]) -> dict[str, Past]:
        """Those of these minions that have any."""
        with self.database.read() as connection:
            rows = [row for part in chunks(of) for row in connection.execute(_OF_EACH, {"ids": part})]
        return {row.minion: _DECODER.decode(row.states) for row in rows}

    def put(self, minion: str, past: Past) -> None:
        """Keep one in the place of the one before; nothing of a minion that the store does not know."""
        with self.database.write() as connection:
            connection.execute(_DELETE, {"of": minion})
            if past and connection.scalar(_KNOWN, {"of": minion}) is not None:
                connection.execute(_PUT, {"minion": minion, "states": msgspec.msgpack.encode(past)})
