"""Which document each minion last applied to its end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import insert, select, update

from controller.store.database import Database
from controller.store.records import AppliedRecord
from controller.store.schema import applied


@dataclass(frozen=True, slots=True)
class Applied:
    """The table of applied documents; the documents themselves are in `DocumentBlobs`."""

    database: Database

    def get(self, minion_id: str) -> AppliedRecord | None:
        """What a minion last became."""
        with self.database.read() as connection:
            row = connection.execute(select(applied).where(applied.c.minion == minion_id)).first()
        return None if row is None else applied_record(row._mapping)

    def put(self, record: AppliedRecord) -> None:
        """Note that a minion has applied a document that the store has."""
        values = asdict(record)
        with self.database.write() as connection:
            known = update(applied).where(applied.c.minion == record.minion)
            if connection.execute(known.values(values)).rowcount == 0:
                connection.execute(insert(applied).values(values))


def applied_record(row: Mapping[Any, Any]) -> AppliedRecord:
    """From a row's columns by name."""
    return AppliedRecord(**row)
