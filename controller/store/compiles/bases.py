"""What the newest documents stand on, so that a controller that starts knows which of them hold still."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select

from controller.store.database import Database
from controller.store.records import BasisRecord
from controller.store.rows import chunks, present
from controller.store.schema import bases, basis_parts, minions


@dataclass(frozen=True, slots=True)
class Bases:
    """The tables of bases and of their parts, which many minions share."""

    database: Database

    def put(self, minion_ids: Sequence[str], records: Sequence[BasisRecord], parts: Mapping[str, bytes]) -> None:
        """Keep the bases of minions that were compiled; those of `minion_ids` without a record have none any more.

        Args:
            minion_ids: all that were compiled.
            records: what the documents of some of them stand on.
            parts: key -> a part, of those that these records name: packed reads.
        """
        if not minion_ids:
            return
        with self.database.write() as connection:
            gone = delete(bases).where(bases.c.minion == bindparam("gone"))
            connection.execute(gone, [{"gone": minion} for minion in minion_ids])
            known = present(connection, minions.c.id, [record.minion for record in records])
            kept = [record for record in records if record.minion in known]
            if not kept:
                return
            have = present(connection, basis_parts.c.key, list(parts))
            rows = [{"key": key, "reads": reads} for key, reads in parts.items() if key not in have]
            if rows:
                connection.execute(insert(basis_parts), rows)
            connection.execute(
                insert(bases),
                [{"minion": each.minion, "inputs": each.inputs, "parts": " ".join(each.parts)} for each in kept],
            )

    def all(self) -> list[BasisRecord]:
        """Those of all minions."""
        with self.database.read() as connection:
            rows = connection.execute(select(bases.c.minion, bases.c.inputs, bases.c.parts)).all()
        return [BasisRecord(minion=row.minion, inputs=row.inputs, parts=tuple(row.parts.split())) for row in rows]

    def parts(self) -> dict[str, bytes]:
        """All parts by key."""
        with self.database.read() as connection:
            return {row.key: row.reads for row in connection.execute(select(basis_parts))}

    def prune(self) -> int:
        """Forget the parts that no basis names; returns how many."""
        with self.database.write() as connection:
            named = {key for parts in connection.scalars(select(bases.c.parts)) for key in parts.split()}
            unused = sorted(set(connection.scalars(select(basis_parts.c.key))) - named)
            for part in chunks(unused):
                connection.execute(delete(basis_parts).where(basis_parts.c.key.in_(part)))
        return len(unused)
