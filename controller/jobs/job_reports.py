"""What became of jobs, on each of their minions: `saltern jobs`. Called by the service; ends jobs through `Jobs`."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from controller.jobs.job_outcomes import UNREACHABLE, by_job, counted_view, job_view, never_asked, outcome_of
from controller.jobs.jobs import Jobs
from controller.schema.errors import ServiceError
from controller.schema.jobs import JobDetail, JobKill, JobMinion, JobsQuery, JobView
from controller.schema.requests import CallQuestion
from controller.schema.targets import TargetExpression
from controller.store import RunRecord
from controller.store.jobs.listing import JobFilter
from controller.store.jobs.table import JobRecord

MOST_JOBS = 1000
ABOUT_JOBS = tuple(f"saltutil.{name}" for name in ("find_job", "kill_job", "running", "signal_job", "term_job"))
"""Functions that look after other jobs."""
_KINDS = ("apply", "remediate", "call", "preview")


@dataclass(frozen=True, slots=True)
class JobReports:
    """Reads the runs of jobs from the store. The store is read in threads: a job may have ten thousand minions."""

    jobs: Jobs

    def newest(self, query: JobsQuery) -> Callable[[], Sequence[JobView]]:
        """What finds the newest jobs, in a thread, newest first; with `active` those that go on."""
        return partial(self._newest, query, self._connected())

    async def detail(self, jid: str) -> JobDetail:
        """One job, by its id or that of a run of it. ServiceError (`not-found`) when there is none."""
        connected = self._connected()
        return await asyncio.to_thread(self._detail, jid, connected)

    async def kill(self, jid: str, user: str) -> Sequence[JobKill]:
        """Have a job ended at once on the minions where it goes on; who that is. Its runs return as cancelled."""
        detail = await self.detail(jid)
        jid = detail.job.jid
        stopped = {run.minion for run in self.jobs.store.runs.of_job(jid) if self.jobs.state_calls.cancel(run)}
        left = [one.minion for one in detail.minions if one.run_id and one.state != "finished"]
        left = [minion for minion in left if minion not in stopped]
        target = TargetExpression(kind="list", expression=",".join(left))
        question = CallQuestion(target=target, fun="saltutil.kill_job", args=(jid,))
        asked = self.jobs.start(left, question, user=user)
        self.jobs.forget(asked)
        killed = dict.fromkeys(stopped, True) | {minion: future is not None for minion, (_, future) in asked.items()}
        return [JobKill(minion=minion, asked=killed[minion]) for minion in sorted(killed)]

    def _connected(self) -> frozenset[str]:
        return frozenset(session.minion for session in self.jobs.sessions)

    def _newest(self, query: JobsQuery, connected: frozenset[str]) -> list[JobView]:
        store, limit = self.jobs.store, min(max(query.limit, 1), MOST_JOBS)
        before = store.job_listing.place(query.before) if query.before else None
        if query.before and before is None:
            raise ServiceError("not-found", f"no job {query.before!r}", hint="`saltern jobs list` shows the newest")
        if query.active:
            places = store.job_listing.places(store.job_listing.open(_KINDS) | self.jobs.opened.driven())
            places = [one for one in places if before is None or one < before][:limit]
        else:
            without = ABOUT_JOBS if query.without_control else ()
            meant = JobFilter(
                minion=query.minion,
                kinds=_listed(query.kind),
                outcomes=_listed(query.outcome),
                user=query.user,
                fun=query.fun,
            )
            places = store.job_listing.newest(_KINDS, limit, before=before, without=without, meant=meant)
        return self._views([place.jid for place in places], connected)

    def _views(self, jids: Sequence[str], connected: frozenset[str]) -> list[JobView]:
        """Jobs in a line each; those that are gone meanwhile are left out."""
        store = self.jobs.store
        asked = store.jobs.many(jids)
        counts = store.job_listing.counts([jid for jid in jids if jid in asked])
        found = []
        for jid in jids:
            if jid in asked:
                driven = self.jobs.opened.is_driven(jid)
                found.append(counted_view(asked[jid], counts[jid], connected, driven=driven))
            elif (run := store.runs.get(jid)) is not None:
                found.append(job_view(jid, [run], self._minions(jid, [run], None, connected, {})))
        return found

    def _detail(self, jid: str, connected: frozenset[str]) -> JobDetail:
        runs = self.jobs.store.runs.of_job(jid)
        jid = (runs[0].job or runs[0].run_id) if runs else jid
        job = self.jobs.store.jobs.get(jid)
        if not runs and job is None:
            raise ServiceError("not-found", f"no job {jid!r}", hint="`saltern jobs list` shows the newest")
        own = by_job(runs).get(jid, [])
        seen = self.jobs.store.minions.last_seen()
        minions = self._minions(jid, own, job, connected, seen)
        return JobDetail(
            job=job_view(jid, own, minions, job), minions=tuple(sorted(minions, key=lambda one: one.minion))
        )

    def _minions(
        self,
        jid: str,
        runs: Sequence[RunRecord],
        job: JobRecord | None,
        connected: frozenset[str],
        seen: Mapping[str, float | None],
    ) -> list[JobMinion]:
        found = [self._minion(run, run.minion in connected, seen.get(run.minion)) for run in runs]
        known, driven = {run.minion for run in runs}, self.jobs.opened.is_driven(jid)
        left = [minion for minion in (job.minions if job is not None else ()) if minion not in known]
        return found + [never_asked(minion, connected=minion in connected, driven=driven) for minion in left]

    def _minion(self, run: RunRecord, connected: bool, seen: float | None) -> JobMinion:
        outcome = outcome_of(run, connected=connected)
        summary = run.summary
        if outcome == UNREACHABLE and not summary:
            asked = run.state == "finished"
            summary = "was not connected: never asked" if asked else "has not returned, and is not connected now"
        return JobMinion(
            minion=run.minion,
            run_id=run.run_id,
            outcome=outcome,
            state=run.state,
            connected=connected,
            last_seen=seen,
            started=run.started,
            finished=run.finished,
            seconds=run.seconds,
            summary=summary,
        )


def _listed(text: str) -> tuple[str, ...]:
    """Words with commas between them."""
    return tuple(each for each in text.split(",") if each)
