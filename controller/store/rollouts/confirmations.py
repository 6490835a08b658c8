"""What is confirmed on minions with `apply: confirm`, and what waits for that."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import delete, insert, update

from controller.store.database import Database
from controller.store.records import ConfirmationRecord
from controller.store.rows import chunks
from controller.store.schema import confirmations


@dataclass(frozen=True, slots=True)
class Confirmations:
    """The table of confirmations; the documents themselves are in `DocumentBlobs`."""

    database: Database

    def put(self, record: ConfirmationRecord) -> None:
        """Keep what is confirmed on a minion, in the place of what was; the store has its document."""
        values = asdict(record)
        with self.database.write() as connection:
            known = update(confirmations).where(confirmations.c.minion == record.minion)
            if connection.execute(known.values(values)).rowcount == 0:
                connection.execute(insert(confirmations).values(values))

    def settle(self, minion_ids: Iterable[str]) -> None:
        """Nothing waits on these minions any more; what is confirmed stays."""
        with self.database.write() as connection:
            for part in chunks(list(minion_ids)):
                some = update(confirmations).where(confirmations.c.minion.in_(part))
                connection.execute(some.values(waiting="", since=0.0))

    def delete(self, minion_id: str) -> None:
        """Forget what is confirmed on a minion."""
        with self.database.write() as connection:
            connection.execute(delete(confirmations).where(confirmations.c.minion == minion_id))


def confirmation_record(row: Mapping[Any, Any]) -> ConfirmationRecord:
    """From a row's columns by name."""
    return ConfirmationRecord(**row)
