"""What holds of the fleet, its environments and its waves, and since when."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

from sqlalchemy import delete, insert, select

from controller.store.database import Database
from controller.store.schema import conditions


@dataclass(frozen=True, slots=True, kw_only=True)
class ConditionRecord:
    """One condition of one group of minions."""

    scope: str
    """`fleet`, `environment` or `wave`."""
    name: str
    """Of the group."""
    type: str
    status: Literal["True", "False", "Unknown"]
    reason: str
    since: float
    """When the status became what it is, in seconds since the epoch."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The table of conditions."""

    database: Database

    def all(self) -> list[ConditionRecord]:
        """All of them."""
        with self.database.read() as connection:
            return [ConditionRecord(**row._mapping) for row in connection.execute(select(conditions))]

    def replace(self, records: Iterable[ConditionRecord]) -> None:
        """Keep these and no others."""
        with self.database.write() as connection:
            connection.execute(delete(conditions))
            if rows := [asdict(record) for record in records]:
                connection.execute(insert(conditions), rows)
