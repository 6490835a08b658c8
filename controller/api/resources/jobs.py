"""Jobs, the minions that they reach, revisions, and a search over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.api.asked import AdminRequest, service_of, user_of
from controller.api.operations import get, post
from controller.schema.fleet.activity import ActivityQuery, ActivityView
from controller.schema.fleet.listings import RevisionPage, RevisionsQuery, SearchQuery, SearchView
from controller.schema.fleet.minion_details import MinionDetail, MinionDetailQuery
from controller.schema.fleet.minion_pages import MinionPage, MinionPageQuery
from controller.schema.jobs import JobDetail, JobKill, JobQuery, JobsQuery, JobView
from controller.schema.minions import MinionPresence
from controller.schema.requests import StatusQuery


@get("/jobs")
async def jobs(request: AdminRequest, query: JobsQuery) -> Sequence[JobView]:
    """Jobs, newest first (`saltern jobs list` and `active`)."""
    return await service_of(request).newest_jobs(query)


@get("/job")
async def job(request: AdminRequest, query: JobQuery) -> JobDetail:
    """One job with what became of it on each of its minions (`saltern jobs show`)."""
    return await service_of(request).job_detail(query.jid)


@post("/jobs/kill")
async def kill(request: AdminRequest, body: JobQuery) -> Sequence[JobKill]:
    """Have a job ended on the minions where it goes on (`saltern jobs kill`)."""
    return await service_of(request).kill_job(body.jid, user=user_of(request))


@get("/minions")
async def minion_page(request: AdminRequest, query: MinionPageQuery) -> MinionPage:
    """Where minions stand, some at a time."""
    return await service_of(request).minion_page(query)


@get("/minions/detail")
async def one_minion(request: AdminRequest, query: MinionDetailQuery) -> MinionDetail:
    """One minion with its grains and the states that it shall have."""
    return await service_of(request).minion_detail(query.minion)


@get("/minions/presence")
async def presence(request: AdminRequest, query: StatusQuery) -> Sequence[MinionPresence]:
    """Which minions are connected (`saltern minions`)."""
    return await service_of(request).presence(query.target)


@get("/revisions")
async def revisions(request: AdminRequest, query: RevisionsQuery) -> RevisionPage:
    """Revisions that were live or were refused, some at a time, newest first."""
    return await service_of(request).revisions(query)


@get("/search")
async def search(request: AdminRequest, query: SearchQuery) -> SearchView:
    """Minions, revisions, runs and jobs that have a text in them."""
    return await service_of(request).search(query)


@get("/activity")
async def activity(request: AdminRequest, query: ActivityQuery) -> ActivityView:
    """What the fleet is doing now (`saltern top`)."""
    return await service_of(request).activity(query)


ROUTES: Final = (jobs, job, kill, minion_page, one_minion, presence, revisions, search, activity)
