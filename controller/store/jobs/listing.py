"""Jobs newest first, page by page, and how their minions stand, counted by the database.

Used by `saltern jobs list|active` and the runner `jobs`. A job of ten thousand minions is a few rows here: the database
counts, and names those alone that have not returned. A run that belongs to no job (of the desired state, of a minion's
schedule) is a job of its own.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from sqlalchemy import ColumnElement, Select, exists, func, or_, select, text, tuple_

from controller.store.database import Database
from controller.store.rows import chunks
from controller.store.schema import jobs, runs
from controller.store.texts import has_text

_ALONE = "kind <> 'drift' AND coalesce(job, '') = ''"  # as the partial index `single_runs` says it
_OPEN = "state IN ('requested', 'started')"  # as the partial index `open_runs` says it
_JID = func.coalesce(func.nullif(runs.c.job, ""), runs.c.run_id)


class JobPlace(NamedTuple):
    """Where a job stands among all: by its time, then by its id."""

    created: float
    """Seconds since the epoch."""
    jid: str


class RunCount(NamedTuple):
    """So many minions of a job whose newest runs stand alike."""

    state: str
    outcome: str
    ending: str
    minions: int
    last: float
    """When the last of them ended, or was made."""


@dataclass(slots=True)
class JobCounts:
    """How the minions of a job stand; one that was asked again counts with its newest run."""

    groups: list[RunCount] = field(default_factory=list)
    open: list[str] = field(default_factory=list)
    """Minions that have not returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFilter:
    """Which jobs are meant; what is empty does not count."""

    minion: str = ""
    kinds: Collection[str] = ()
    outcomes: Collection[str] = ()
    """One of its runs ended so."""
    user: str = ""
    fun: str = ""
    """Part of the name of the function."""


@dataclass(frozen=True, slots=True)
class JobListing:
    """Reads the tables of jobs and runs."""

    database: Database

    def place(self, jid: str) -> JobPlace | None:
        """Where a job stands, by its id or that of a run of its own; None when there is none."""
        with self.database.read() as connection:
            created = connection.scalar(select(jobs.c.created).where(jobs.c.jid == jid))
            if created is None:
                created = connection.scalar(select(runs.c.created).where(runs.c.run_id == jid))
        return None if created is None else JobPlace(created, jid)

    def newest(
        self,
        kinds: Sequence[str],
        limit: int,
        *,
        before: JobPlace | None = None,
        without: Collection[str] = (),
        meant: JobFilter | None = None,
    ) -> list[JobPlace]:
        """The newest jobs, newest first. For threads.

        Args:
            kinds: of runs that stand alone.
            limit: at most so many.
            before: only those that stand behind this place.
            without: functions whose jobs are left out.
            meant: which of them; None: all.
        """
        meant = meant or JobFilter()
        kinds = [each for each in kinds if not meant.kinds or each in meant.kinds]
        asked = select(jobs.c.created, jobs.c.jid).where(jobs.c.fun.not_in(list(without)))
        alone = select(runs.c.created, runs.c.run_id).where(text(_ALONE), runs.c.kind.in_(kinds))
        asked = asked.order_by(jobs.c.created.desc(), jobs.c.jid.desc()).limit(limit)
        alone = alone.order_by(runs.c.created.desc(), runs.c.run_id.desc()).limit(limit)
        if before is not None:
            asked = asked.where(_stands_before(jobs.c.created, jobs.c.jid, before))
            alone = alone.where(_stands_before(runs.c.created, runs.c.run_id, before))
        asked, alone = asked.where(*_of_jobs(self.database, meant)), alone.where(*_of_runs(self.database, meant))
        with self.database.read_aside() as connection:
            rows = [*(connection.execute(asked) if "call" in kinds else ()), *connection.execute(alone)]
        return sorted((JobPlace(*row) for row in rows), reverse=True)[:limit]

    def open(self, kinds: Sequence[str]) -> set[str]:
        """Ids of all jobs that a minion has not returned."""
        query = select(_JID).where(text(_OPEN), runs.c.kind.in_(kinds)).distinct()
        with self.database.read() as connection:
            return set(connection.scalars(query))

    def places(self, jids: Collection[str]) -> list[JobPlace]:
        """Where those of these jobs stand that there are, newest first."""
        found: dict[str, float] = {}
        with self.database.read() as connection:
            for part in chunks(list(jids)):
                alone = select(runs.c.run_id, runs.c.created).where(
                    runs.c.run_id.in_(part), or_(runs.c.job.is_(None), runs.c.job == "")
                )
                found |= {row.run_id: row.created for row in connection.execute(alone)}
                asked = select(jobs.c.jid, jobs.c.created).where(jobs.c.jid.in_(part))
                found |= {row.jid: row.created for row in connection.execute(asked)}
        return sorted((JobPlace(created, jid) for jid, created in found.items()), reverse=True)

    def counts(self, jids: Sequence[str]) -> dict[str, JobCounts]:
        """How the minions of these jobs stand; runs that stand alone are none."""
        found = {jid: JobCounts() for jid in jids}
        with self.database.read() as connection:
            for part in chunks(jids):
                group = (runs.c.job, runs.c.state, runs.c.outcome, func.coalesce(runs.c.ending, ""))
                ended = func.max(func.coalesce(runs.c.finished, runs.c.created))
                counted = select(*group, func.count(), ended).where(runs.c.seq.in_(_newest(part))).group_by(*group)
                for jid, *values in connection.execute(counted):
                    found[jid].groups.append(RunCount(*values))
            going_on = [jid for jid, one in found.items() if any(group.state != "finished" for group in one.groups)]
            for part in chunks(going_on):
                left = select(runs.c.job, runs.c.minion).where(runs.c.seq.in_(_newest(part)), text(_OPEN))
                for jid, minion in connection.execute(left):
                    found[jid].open.append(minion)
        return found


def _of_jobs(database: Database, meant: JobFilter) -> list[ColumnElement[bool]]:
    found = []
    if meant.user:
        found.append(jobs.c.user == meant.user)
    if meant.fun:
        found.append(has_text(database, jobs.c.fun, meant.fun))
    if meant.minion or meant.outcomes:
        found.append(exists().where(runs.c.job == jobs.c.jid, *_of_runs(database, replace(meant, user="", fun=""))))
    return found


def _of_runs(database: Database, meant: JobFilter) -> list[ColumnElement[bool]]:
    found = []
    if meant.user:
        found.append(runs.c.user == meant.user)
    if meant.fun:
        found.append(has_text(database, runs.c.fun, meant.fun))
    if meant.minion:
        found.append(runs.c.minion == meant.minion)
    if meant.outcomes:
        found.append(runs.c.outcome.in_(list(meant.outcomes)))
    return found


def _newest(jids: Sequence[str]) -> Select[tuple[int]]:
    """The newest run of each minion of these jobs."""
    return select(func.max(runs.c.seq)).where(runs.c.job.in_(jids)).group_by(runs.c.job, runs.c.minion)


def _stands_before(created: ColumnElement[float], jid: ColumnElement[str], place: JobPlace) -> ColumnElement[bool]:
    return tuple_(created, jid) < tuple_(place.created, place.jid)
