"""Which minions hold the document of a pull request or of an earlier revision in place of their desired one."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import delete, insert, select

from controller.store.database import Database
from controller.store.records import HoldRecord
from controller.store.rows import chunks, present
from controller.store.schema import documents, holds, minions


class DocumentGone(Exception):
    """A document that was kept a moment ago is not any more; it has to be compiled again."""


@dataclass(frozen=True, slots=True)
class Holds:
    """The table of holds; the documents themselves are in `DocumentBlobs`."""

    database: Database

    def put(self, records: Collection[HoldRecord]) -> list[str]:
        """Keep holds in the place of those of the same minions; those of minions that were forgotten are dropped.

        Returns the minions of the others. Raises DocumentGone.
        """
        with self.database.write() as connection:
            known = present(connection, minions.c.id, [record.minion for record in records])
            kept = [record for record in records if record.minion in known]
            wanted = {record.digest for record in kept}
            if wanted - set(present(connection, documents.c.digest, sorted(wanted))):
                raise DocumentGone
            self.delete(record.minion for record in kept)
            if kept:
                connection.execute(insert(holds), [asdict(record) for record in kept])
        return [record.minion for record in kept]

    def delete(self, minion_ids: Iterable[str]) -> None:
        """Forget the holds of these minions."""
        with self.database.write() as connection:
            for part in chunks(list(minion_ids)):
                connection.execute(delete(holds).where(holds.c.minion.in_(part)))

    def all(self) -> list[HoldRecord]:
        """All of them, by minion."""
        with self.database.read() as connection:
            found = connection.execute(select(holds).order_by(holds.c.minion))
            return [hold_record(row._mapping) for row in found]

    def of_rollbacks(self) -> list[HoldRecord]:
        """Those of minions that were taken back, by minion."""
        with self.database.read() as connection:
            found = connection.execute(select(holds).where(holds.c.rollback != "").order_by(holds.c.minion))
            return [hold_record(row._mapping) for row in found]

    def of_pull(self, forge: str, project: str, number: int) -> list[HoldRecord]:
        """Those of a pull request, by minion."""
        which = (holds.c.forge == forge, holds.c.project == project, holds.c.number == number)
        with self.database.read() as connection:
            found = connection.execute(select(holds).where(*which).order_by(holds.c.minion))
            return [hold_record(row._mapping) for row in found]


def hold_record(row: Mapping[Any, Any]) -> HoldRecord:
    """From a row's columns by name."""
    return HoldRecord(**row)
