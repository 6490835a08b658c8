"""Revisions that were taken back, and what is live in the place of each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass

import msgspec
from sqlalchemy import delete, insert, select

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import quarantine


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantineRecord:
    """A revision that does not go live."""

    digest: str
    label: str
    back_to: str
    """Digest of the revision that is live in its place."""
    back_label: str
    commits: dict[str, str]
    """Remote -> commit of that revision."""
    user: str
    why: str
    at: float


@dataclass(frozen=True, slots=True)
class QuarantineTable:
    """The table of quarantined revisions."""

    database: Database

    def put(self, records: Iterable[QuarantineRecord]) -> None:
        """Keep records in the place of those of the same revisions."""
        records = list(records)
        with self.database.write() as connection:
            self.delete(record.digest for record in records)
            rows = [asdict(record) | {"commits": msgspec.msgpack.encode(record.commits)} for record in records]
            if rows:
                connection.execute(insert(quarantine), rows)

    def delete(self, digests: Iterable[str]) -> None:
        """Let these revisions go live again."""
        with self.database.write() as connection:
            for part in chunks(list(digests)):
                connection.execute(delete(quarantine).where(quarantine.c.digest.in_(part)))

    def all(self) -> list[QuarantineRecord]:
        """All of them, the newest first."""
        with self.database.read() as connection:
            found = connection.execute(select(quarantine).order_by(quarantine.c.at.desc()))
            return [
                QuarantineRecord(
                    **{**row._mapping, "commits": msgspec.msgpack.decode(row.commits, type=dict[str, str])}
                )
                for row in found
            ]
