"""Revisions, documents, and which document a minion shall have and has. Called by `Store`."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from sqlalchemy import Column, Connection, bindparam, delete, insert, or_, select, update

from controller.store.records import AppliedRecord, DesiredRecord, RevisionRecord
from controller.store.schema import applied, desired, documents, minions, revisions, runs
from highstate.types import Problem

_PROBLEMS = msgspec.json.Decoder(tuple[Problem, ...])
_REMARKS = msgspec.json.Decoder(tuple[tuple[Problem, ...], tuple[str, ...]])
"""Warnings, and what the compile stands on."""
_FAST = 1  # zlib's level: most of the gain for a fifth of the time


def add_revision(connection: Connection, revision: RevisionRecord) -> None:
    """Note a revision; one that is known keeps its `first_seen`, and gets the error of now."""
    known = update(revisions).where(revisions.c.digest == revision.digest).values(error=revision.error)
    if connection.execute(known).rowcount == 0:
        connection.execute(insert(revisions).values(asdict(revision)))


def all_revisions(connection: Connection, limit: int) -> list[RevisionRecord]:
    """The newest revisions first."""
    return [_revision(row._mapping) for row in connection.execute(_newest_first().limit(limit))]


def revision(connection: Connection, digest: str) -> RevisionRecord | None:
    """One revision."""
    row = connection.execute(_newest_first().where(revisions.c.digest == digest)).first()
    return None if row is None else _revision(row._mapping)


def put_compiled(connection: Connection, records: Sequence[DesiredRecord]) -> None:
    """Keep the compiles of many minions; those of minions that were forgotten meanwhile are dropped."""
    known = _found(connection, minions.c.id, [record.minion for record in records])
    records = [record for record in records if record.minion in known]
    fresh = {record.digest: record.document for record in records if record.document is not None}
    have = _found(connection, documents.c.digest, list(fresh))
    written = [
        {"digest": digest, "blob": zlib.compress(document, _FAST)}
        for digest, document in fresh.items()
        if digest not in have
    ]
    if written:
        connection.execute(insert(documents), written)
    if records:
        gone = delete(desired).where(desired.c.minion == bindparam("gone"))
        connection.execute(gone, [{"gone": record.minion} for record in records])
        connection.execute(insert(desired), [_desired_values(record) for record in records])


def get_desired(connection: Connection, minion_id: str) -> DesiredRecord | None:
    """What a minion shall be."""
    row = connection.execute(select(desired).where(desired.c.minion == minion_id)).first()
    return None if row is None else desired_record(row._mapping)


def desired_of(connection: Connection, minion_ids: Sequence[str]) -> dict[str, DesiredRecord]:
    """What each of these minions shall be; those that have nothing are left out."""
    rows = (
        row
        for part in _parts(minion_ids)
        for row in connection.execute(select(desired).where(desired.c.minion.in_(part)))
    )
    return {row.minion: desired_record(row._mapping) for row in rows}


def carry_over(connection: Connection, minion_ids: Sequence[str], revision: str) -> None:
    """The documents of these minions are those of this revision too."""
    for part in _parts(minion_ids):
        same = update(desired).where(desired.c.minion.in_(part))
        connection.execute(same.values(revision=revision, compiled_revision=revision))


def get_applied(connection: Connection, minion_id: str) -> AppliedRecord | None:
    """What a minion last became."""
    row = connection.execute(select(applied).where(applied.c.minion == minion_id)).first()
    return None if row is None else applied_record(row._mapping)


def put_applied(connection: Connection, record: AppliedRecord) -> None:
    """Note that a minion has applied a document (which the store has)."""
    values = asdict(record)
    if connection.execute(update(applied).where(applied.c.minion == record.minion).values(values)).rowcount == 0:
        connection.execute(insert(applied).values(values))


def document(connection: Connection, digest: str) -> bytes | None:
    """A packed document; None when it is not kept (any more)."""
    blob = connection.scalar(select(documents.c.blob).where(documents.c.digest == digest))
    return None if blob is None else zlib.decompress(blob)


def prune_documents(connection: Connection) -> int:
    """Forget documents that no minion shall have, has applied, holds, or is running."""
    needed = [
        select(desired.c.digest).where(desired.c.digest.is_not(None)),
        select(applied.c.digest),
        select(minions.c.held),
        select(runs.c.digest).where(runs.c.state.in_(["requested", "started"])),
    ]
    unused = delete(documents)
    for query in needed:
        unused = unused.where(documents.c.digest.not_in(query))
    return connection.execute(unused).rowcount


def prune_revisions(connection: Connection, keep: int) -> int:
    """Forget revisions that are neither among the newest `keep` nor referred to."""
    newest = select(revisions.c.seq).order_by(revisions.c.seq.desc()).limit(keep)
    used = or_(
        revisions.c.digest.in_(select(desired.c.revision)),
        revisions.c.digest.in_(select(desired.c.compiled_revision)),
        revisions.c.digest.in_(select(applied.c.revision)),
        revisions.c.digest.in_(select(runs.c.revision)),
    )
    return connection.execute(delete(revisions).where(revisions.c.seq.not_in(newest), ~used)).rowcount


def desired_record(row: Mapping[Any, Any]) -> DesiredRecord:
    """From a row's columns by name."""
    values = {**row, "digest": row["digest"] or ""}
    values["errors"] = _PROBLEMS.decode(row["errors"]) if row["errors"] else ()
    remarks = values.pop("remarks")
    values["warnings"], values["volatile"] = _REMARKS.decode(remarks) if remarks else ((), ())
    return DesiredRecord(**values)


def applied_record(row: Mapping[Any, Any]) -> AppliedRecord:
    """From a row's columns by name."""
    return AppliedRecord(**row)


def _found(connection: Connection, column: Column[str], values: Sequence[str]) -> set[str]:
    """Which of these values a column has."""
    return {value for part in _parts(values) for value in connection.scalars(select(column).where(column.in_(part)))}


def _parts(values: Sequence[str]) -> Iterator[Sequence[str]]:
    """Not too many at once: a statement takes a limited number of values."""
    return (values[start : start + 1000] for start in range(0, len(values), 1000))


def _desired_values(record: DesiredRecord) -> dict[str, Any]:
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
    }


def _newest_first() -> Any:
    return select(revisions).order_by(revisions.c.seq.desc())


def _revision(row: Mapping[Any, Any]) -> RevisionRecord:
    return RevisionRecord(**{name: value for name, value in row.items() if name != "seq"})
