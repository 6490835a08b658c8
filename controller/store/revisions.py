"""Revisions of the trees: which were compiled or refused, and when they were first seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import msgspec
from sqlalchemy import case, delete, distinct, func, insert, or_, select, update

from controller.store.database import Database
from controller.store.records import RevisionRecord, RevisionSource
from controller.store.schema import applied, confirmations, desired, holds, revisions, runs
from controller.store.texts import has_text

_OF_BRANCHES = or_(revisions.c.pull.is_(None), revisions.c.pull == "")
_APPLIES = ("apply", "remediate")
_FAILED = ("failed", "error")
_WAS_LIVE = (revisions.c.error == "", _OF_BRANCHES)


class RevisionRuns(NamedTuple):
    """On how many minions runs of a revision did something."""

    changed: int
    failed: int


@dataclass(frozen=True, slots=True)
class Revisions:
    """The table of revisions."""

    database: Database

    def add(self, revision: RevisionRecord) -> None:
        """Note a revision; one that is known keeps its `first_seen`, and gets the error of now."""
        known = update(revisions).where(revisions.c.digest == revision.digest).values(error=revision.error)
        with self.database.write() as connection:
            if connection.execute(known).rowcount == 0:
                values = asdict(revision) | {"sources": msgspec.msgpack.encode(revision.sources)}
                connection.execute(insert(revisions).values(values))

    def note_compile_error(self, digest: str, error: str) -> None:
        """A live revision does not compile for a minion; the first error is kept."""
        first = revisions.c.digest == digest, revisions.c.compile_error == ""
        with self.database.write() as connection:
            connection.execute(update(revisions).where(*first).values(compile_error=error))

    def get(self, digest: str) -> RevisionRecord | None:
        """One revision."""
        with self.database.read() as connection:
            row = connection.execute(select(revisions).where(revisions.c.digest == digest)).first()
        return None if row is None else _record(row._mapping)

    def position(self, digest: str) -> int:
        """Which of all revisions it was, by when they were first seen; 0 for one that is not known."""
        with self.database.read() as connection:
            return connection.scalar(select(revisions.c.seq).where(revisions.c.digest == digest)) or 0

    def newest_position(self) -> int:
        """That of the newest one, whatever became of it."""
        with self.database.read() as connection:
            return connection.scalar(select(func.max(revisions.c.seq))) or 0

    def newest(self) -> RevisionRecord | None:
        """The revision that was first seen last, of those that were live."""
        query = select(revisions).where(*_WAS_LIVE).order_by(revisions.c.seq.desc()).limit(1)
        with self.database.read() as connection:
            row = connection.execute(query).first()
        return None if row is None else _record(row._mapping)

    def newest_of(self, most: int) -> list[RevisionRecord]:
        """The revisions that were first seen last, of those that were live; the newest first."""
        query = select(revisions).where(*_WAS_LIVE).order_by(revisions.c.seq.desc()).limit(most)
        with self.database.read() as connection:
            return [_record(row._mapping) for row in connection.execute(query)]

    def page(self, wanted: str, offset: int, limit: int) -> tuple[list[RevisionRecord], int]:
        """Some of the revisions that were live or were refused, newest first, and how many there are. For threads.

        Args:
            wanted: part of label, commit, subject or author, in small or capital letters; empty: all.
            offset: so many are left out.
            limit: at most so many.
        """
        meant = [_OF_BRANCHES]
        if wanted:
            texts = (revisions.c.label, revisions.c.commit, revisions.c.subject, revisions.c.author)
            meant.append(or_(*(has_text(self.database, each, wanted) for each in texts)))
        query = select(revisions).where(*meant).order_by(revisions.c.seq.desc()).offset(offset).limit(limit)
        with self.database.read_aside() as connection:
            total = connection.scalar(select(func.count()).select_from(revisions).where(*meant)) or 0
            return [_record(row._mapping) for row in connection.execute(query)], total

    def minions_changed(self, digests: Sequence[str]) -> dict[str, RevisionRuns]:
        """What runs of these revisions did, of those that are kept."""
        changed = func.count(distinct(case((runs.c.changes > 0, runs.c.minion))))
        failed = func.count(distinct(case((runs.c.outcome.in_(_FAILED), runs.c.minion))))
        query = select(runs.c.revision, changed, failed).where(
            runs.c.revision.in_(digests), runs.c.kind.in_(_APPLIES), runs.c.test.is_(False)
        )
        with self.database.read_aside() as connection:
            rows = connection.execute(query.group_by(runs.c.revision))
            return {digest: RevisionRuns(*counts) for digest, *counts in rows}

    def prune(self, keep: int) -> int:
        """Forget revisions that are neither among the newest `keep` nor referred to; returns how many."""
        newest = select(revisions.c.seq).order_by(revisions.c.seq.desc()).limit(keep)
        used = or_(
            revisions.c.digest.in_(select(desired.c.revision)),
            revisions.c.digest.in_(select(desired.c.compiled_revision)),
            revisions.c.digest.in_(select(applied.c.revision)),
            revisions.c.digest.in_(select(holds.c.revision)),
            revisions.c.digest.in_(select(confirmations.c.revision)),
            revisions.c.digest.in_(select(runs.c.revision)),
        )
        with self.database.write() as connection:
            return connection.execute(delete(revisions).where(revisions.c.seq.not_in(newest), ~used)).rowcount


def _record(row: Mapping[Any, Any]) -> RevisionRecord:
    values = {name: value for name, value in row.items() if name != "seq"}
    sources = values.pop("sources")
    known = msgspec.msgpack.decode(sources, type=tuple[RevisionSource, ...]) if sources else ()
    return RevisionRecord(**{**values, "pull": values["pull"] or ""}, sources=known)
