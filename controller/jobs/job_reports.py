"""What became of jobs, on each of their minions: `saltern jobs`. Called by the service; ends jobs through `Jobs`."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from controller.jobs.job_outcomes import UNREACHABLE, by_job, job_view, outcome_of
from controller.jobs.jobs import Jobs
from controller.schema.errors import ServiceError
from controller.schema.jobs import JobDetail, JobKill, JobMinion, JobsQuery, JobView
from controller.schema.requests import CallQuestion
from controller.schema.targets import TargetExpression
from controller.store import RunRecord

MOST_RUNS = 20_000
"""The newest runs among which jobs are looked for."""
MOST_JOBS = 1000
_KINDS = ("apply", "remediate", "call", "preview")


@dataclass(frozen=True, slots=True)
class JobReports:
    """Reads the runs of jobs from the store. The store is read in threads: a job may have ten thousand minions."""

    jobs: Jobs

    async def newest(self, query: JobsQuery) -> Sequence[JobView]:
        """The newest jobs, newest first; with `active` those that a minion has not returned yet."""
        connected = self._connected()
        return await asyncio.to_thread(self._newest, query, connected)

    async def detail(self, jid: str) -> JobDetail:
        """One job, by its id or that of a run of it. ServiceError (`not-found`) when there is none."""
        connected = self._connected()
        return await asyncio.to_thread(self._detail, jid, connected)

    async def kill(self, jid: str, user: str) -> Sequence[JobKill]:
        """Have a job ended at once on the minions where it goes on; who that is. Its runs return as cancelled."""
        detail = await self.detail(jid)
        left = [one for one in detail.minions if one.state != "finished"]
        killed = []
        job = ""
        for one in left:
            question = CallQuestion(
                target=TargetExpression(kind="list", expression=one.minion), fun="saltutil.kill_job", args=(one.run_id,)
            )
            asked = self.jobs.start([one.minion], question, user=user, job=job)
            self.jobs.forget(asked)
            run_id, future = asked[one.minion]
            job = job or run_id
            killed.append(JobKill(minion=one.minion, asked=future is not None))
        return killed

    def _connected(self) -> frozenset[str]:
        return frozenset(session.minion for session in self.jobs.sessions)

    def _newest(self, query: JobsQuery, connected: frozenset[str]) -> list[JobView]:
        runs = self.jobs.store.runs.newest(kinds=_KINDS, limit=MOST_RUNS)
        limit = min(max(query.limit, 1), MOST_JOBS)
        found: list[JobView] = []
        for jid, own in reversed(by_job(reversed(runs)).items()):
            if query.active and all(run.state == "finished" for run in own):
                continue
            found.append(job_view(jid, own, self._minions(own, connected, {})))
            if len(found) == limit:
                break
        return found

    def _detail(self, jid: str, connected: frozenset[str]) -> JobDetail:
        runs = next(iter(by_job(self.jobs.store.runs.of_job(jid)).items()), None)
        if runs is None:
            raise ServiceError("not-found", f"no job {jid!r}", hint="`saltern jobs list` shows the newest")
        seen = {record.id: record.last_seen for record in self.jobs.store.minions.all()}
        minions = self._minions(runs[1], connected, seen)
        return JobDetail(job=job_view(*runs, minions), minions=tuple(sorted(minions, key=lambda one: one.minion)))

    def _minions(
        self, runs: Sequence[RunRecord], connected: frozenset[str], seen: Mapping[str, float | None]
    ) -> list[JobMinion]:
        return [self._minion(run, run.minion in connected, seen.get(run.minion)) for run in runs]

    def _minion(self, run: RunRecord, connected: bool, seen: float | None) -> JobMinion:
        outcome = outcome_of(run, self._ending(run), connected=connected)
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

    def _ending(self, run: RunRecord) -> str:
        """Only runs that failed have one."""
        if run.outcome not in ("failed", "error"):
            return ""
        return str((self.jobs.store.runs.result(run.run_id) or {}).get("ending") or "")
