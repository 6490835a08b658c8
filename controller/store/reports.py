"""Whole reports of previews, for who has a link to one: bounded in number, bytes and age."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, func, insert, or_, select

from controller.store.database import Database
from controller.store.schema import reports


@dataclass(frozen=True, slots=True)
class Reports:
    """The table of reports."""

    database: Database

    def put(self, report_id: str, made_at: float, blob: bytes) -> None:
        """Keep a report in the place of one with the same id. `made_at`: seconds since the epoch."""
        row = {"id": report_id, "made_at": made_at, "size": len(blob), "blob": blob}
        with self.database.write() as connection:
            connection.execute(delete(reports).where(reports.c.id == report_id))
            connection.execute(insert(reports).values(row))

    def get(self, report_id: str) -> bytes | None:
        """A report as it was given to `put`."""
        with self.database.read() as connection:
            return connection.scalar(select(reports.c.blob).where(reports.c.id == report_id))

    def prune(self, *, count: int, size: int, before: float) -> int:
        """Forget reports made before a time, and the oldest of what is beyond `count` reports or `size` bytes.

        Returns how many were forgotten.
        """
        newest = (reports.c.made_at.desc(), reports.c.seq.desc())
        sums = select(
            reports.c.seq,
            func.row_number().over(order_by=newest).label("place"),
            func.sum(reports.c.size).over(order_by=newest).label("total"),
        ).subquery()
        beyond = select(sums.c.seq).where(or_(sums.c.place > count, sums.c.total > size))
        with self.database.write() as connection:
            gone = delete(reports).where(or_(reports.c.made_at < before, reports.c.seq.in_(beyond)))
            return connection.execute(gone).rowcount
