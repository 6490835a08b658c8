"""Which document each minion shall have, with the errors and warnings of its compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import bindparam, delete, insert, select, update

from controller.store.compiles.documents import DocumentBlobs
from controller.store.database import Database
from controller.store.records import DesiredRecord
from controller.store.rows import chunks, present
from controller.store.schema import desired, minions
from highstate.types import Problem

_PROBLEMS = msgspec.json.Decoder(tuple[Problem, ...])
_REMARKS = msgspec.json.Decoder(tuple[tuple[Problem, ...], tuple[str, ...]])
"""Warnings, and what the compile stands on."""
_SALTENVS = msgspec.json.Decoder(tuple[str, ...])


@dataclass(frozen=True, slots=True)
class DesiredTable:
    """The table of compiles; the documents themselves are in `DocumentBlobs`."""

    database: Database

    def get(self, minion_id: str) -> DesiredRecord | None:
        """What a minion shall be."""
        return self.of([minion_id]).get(minion_id)

    def of(self, minion_ids: Sequence[str]) -> dict[str, DesiredRecord]:
        """What each of these minions shall be; those that have nothing are left out."""
        with self.database.read() as connection:
            rows = [
                row
                for part in chunks(minion_ids)
                for row in connection.execute(select(desired).where(desired.c.minion.in_(part)))
            ]
        return {row.minion: desired_record(row._mapping) for row in rows}

    def put(self, records: Sequence[DesiredRecord]) -> None:
        """Keep the compiles of many minions together; those of minions that were forgotten meanwhile are dropped."""
        with self.database.write() as connection:
            known = present(connection, minions.c.id, [record.minion for record in records])
            records = [record for record in records if record.minion in known]
            fresh = {record.digest: record.document for record in records if record.document is not None}
            DocumentBlobs(self.database).put(fresh)
            if records:
                gone = delete(desired).where(desired.c.minion == bindparam("gone"))
                connection.execute(gone, [{"gone": record.minion} for record in records])
                connection.execute(insert(desired), [_values(record) for record in records])

    def carry_over(self, minion_ids: Sequence[str], revision: str) -> None:
        """A revision leaves the documents of these minions as they are: from now on they are the revision's."""
        with self.database.write() as connection:
            for part in chunks(minion_ids):
                same = update(desired).where(desired.c.minion.in_(part))
                connection.execute(same.values(revision=revision, compiled_revision=revision))


def desired_record(row: Mapping[Any, Any]) -> DesiredRecord:
    """From a row's columns by name."""
    values = {**row, "digest": row["digest"] or ""}
    values["errors"] = _PROBLEMS.decode(row["errors"]) if row["errors"] else ()
    remarks = values.pop("remarks")
    values["warnings"], values["volatile"] = _REMARKS.decode(remarks) if remarks else ((), ())
    values["saltenvs"] = _saltenvs(row["saltenvs"] or "[]")
    return DesiredRecord(**values)


@lru_cache(maxsize=1024)
def _saltenvs(packed: str) -> tuple[str, ...]:
    """Few of them are different."""
    return _SALTENVS.decode(packed)


def _values(record: DesiredRecord) -> dict[str, Any]:
    remarked = record.warnings or record.volatile
    return {
        "minion": record.minion,
        "generation": record.generation,
        "revision": record.revision,
        "compiled_revision": record.compiled_revision,
        "digest": record.digest or None,
        "errors": msgspec.json.encode(record.errors) if record.errors else None,
        "compiled_at": record.compiled_at,
        "remarks": msgspec.json.encode((record.warnings, record.volatile)) if remarked else None,
        "saltenvs": msgspec.json.encode(record.saltenvs).decode() if record.saltenvs else None,
        "since": record.since,
    }
