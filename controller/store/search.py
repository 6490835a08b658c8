"""Runs, jobs and revisions that have a text in them: in the newest rows, so that a question
has a bound on what it costs. Called in threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import ColumnElement, Table, func, or_, select

from controller.store.database import Database
from controller.store.records import RunRecord
from controller.store.run_tables.runs import record
from controller.store.schema import jobs, runs
from controller.store.texts import has_text

NEWEST_RUNS = 50_000
"""Runs that are looked through; of the others, those whose id begins with the text are found."""
NEWEST_JOBS = 10_000


@dataclass(frozen=True, slots=True)
class Search:
    """Reads the tables of runs and jobs."""

    database: Database

    def runs(self, wanted: str, limit: int) -> Sequence[RunRecord]:
        """The newest runs whose id begins with a text, or that have it in what was run, for whom or what came of it."""
        has = self._has(wanted, runs.c.minion, runs.c.fun, runs.c.args, runs.c.user, runs.c.summary, runs.c.cause)
        found = or_(runs.c.run_id.startswith(wanted, autoescape=True), has & _newest(runs, NEWEST_RUNS))
        with self.database.read_aside() as connection:
            rows = connection.execute(select(runs).where(found).order_by(runs.c.seq.desc()).limit(limit))
            return [record(row._mapping) for row in rows]

    def jobs(self, wanted: str, limit: int) -> Sequence[str]:
        """The ids of jobs that are found so; newest first."""
        has = self._has(wanted, jobs.c.fun, jobs.c.args, jobs.c.tgt, jobs.c.user)
        found = or_(jobs.c.jid.startswith(wanted, autoescape=True), has & _newest(jobs, NEWEST_JOBS))
        with self.database.read_aside() as connection:
            return list(connection.scalars(select(jobs.c.jid).where(found).order_by(jobs.c.seq.desc()).limit(limit)))

    def _has(self, wanted: str, *columns: ColumnElement[str]) -> ColumnElement[bool]:
        """Whether one of these columns has the text, in small or capital letters."""
        return or_(*(has_text(self.database, each, wanted) for each in columns))


def _newest(table: Table, most: int) -> ColumnElement[bool]:
    return table.c.seq > select(func.coalesce(func.max(table.c.seq), 0) - most).scalar_subquery()
