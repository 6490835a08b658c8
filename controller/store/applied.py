"""Which document each minion last applied to its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from controller.store.database import Database
from controller.store.records import AppliedRecord
from controller.store.rows import chunks, present
from controller.store.schema import applied

_OF_IDS = select(applied).where(applied.c.minion.in_(bindparam("ids", expanding=True)))
_NEW = {f"new_{column.name}": column.name for column in applied.c if column.name != "minion"}
_GIVEN: dict[str, Any] = {name: bindparam(parameter) for parameter, name in _NEW.items()}
_AGAIN = update(applied).where(applied.c.minion == bindparam("of")).values(_GIVEN)
_FIRST = insert(applied).values({"minion": bindparam("minion"), **_GIVEN})


@dataclass(frozen=True, slots=True)
class Applied:
    """The table of applied documents; the documents themselves are in `DocumentBlobs`."""

    database: Database

    def get(self, minion_id: str) -> AppliedRecord | None:
        """What a minion last became."""
        with self.database.read() as connection:
            row = connection.execute(select(applied).where(applied.c.minion == minion_id)).first()
        return None if row is None else applied_record(row._mapping)

    def of(self, minion_ids: Sequence[str]) -> dict[str, AppliedRecord]:
        """What each of these minions last became; those that became nothing are left out."""
        with self.database.read() as connection:
            rows = [row for part in chunks(minion_ids) for row in connection.execute(_OF_IDS, {"ids": part})]
        return {row.minion: applied_record(row._mapping) for row in rows}

    def put_all(self, records: Mapping[str, AppliedRecord]) -> None:
        """As `put`, for many minions."""
        if not records:
            return
        with self.database.write() as connection:
            known = present(connection, applied.c.minion, list(records))
            again = [{"of": minion, **_values(each)} for minion, each in records.items() if minion in known]
            first = [{"minion": minion, **_values(each)} for minion, each in records.items() if minion not in known]
            if again:
                connection.execute(_AGAIN, again)
            if first:
                connection.execute(_FIRST, first)

    def put(self, record: AppliedRecord) -> None:
        """Note that a minion has applied a document that the store has."""
        self.put_all({record.minion: record})


def _values(record: AppliedRecord) -> dict[str, Any]:
    return {parameter: getattr(record, name) for parameter, name in _NEW.items()}


def applied_record(row: Mapping[Any, Any]) -> AppliedRecord:
    """From a row's columns by name."""
    return AppliedRecord(**row)
