"""Jobs and the minions that they reach."""

from __future__ import annotations

from typing import Final

from litestar import Response, get, post

from controller.api import encoding
from controller.api.asked import AdminRequest, body_of, query_of, service_of, user_of
from controller.schema.fleet.activity import ActivityQuery
from controller.schema.fleet.minion_pages import MinionPageQuery
from controller.schema.jobs import JobQuery, JobsQuery
from controller.schema.requests import StatusQuery
from controller.schema.targets import TargetExpression


@get("/jobs")
async def jobs(request: AdminRequest) -> Response[bytes]:
    """`saltern jobs list` and `active`."""
    return encoding.answer(tuple(await service_of(request).newest_jobs(query_of(request, JobsQuery))))


@get("/job")
async def job(request: AdminRequest) -> Response[bytes]:
    """`saltern jobs show`."""
    return encoding.answer(await service_of(request).job_detail(query_of(request, JobQuery).jid))


@post("/jobs/kill", status_code=200)
async def kill(request: AdminRequest) -> Response[bytes]:
    """`saltern jobs kill`."""
    asked = await body_of(request, JobQuery)
    return encoding.answer(tuple(await service_of(request).kill_job(asked.jid, user=user_of(request))))


@get("/minions")
async def minion_page(request: AdminRequest) -> Response[bytes]:
    """Where minions stand, some at a time."""
    return encoding.answer(await service_of(request).minion_page(query_of(request, MinionPageQuery)))


@get("/minions/presence")
async def presence(request: AdminRequest) -> Response[bytes]:
    """`saltern minions`."""
    query = query_of(request, StatusQuery)
    target = None if query.expression is None else TargetExpression(kind=query.kind, expression=query.expression)
    return encoding.answer(tuple(await service_of(request).presence(target)))


@get("/activity")
async def activity(request: AdminRequest) -> Response[bytes]:
    """`saltern top`."""
    return encoding.answer(await service_of(request).activity(query_of(request, ActivityQuery)))


ROUTES: Final = (jobs, job, kill, minion_page, presence, activity)
