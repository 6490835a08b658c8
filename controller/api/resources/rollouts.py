"""Rollouts and rollbacks."""

from __future__ import annotations

from typing import Final

from litestar import Response, get, post

from controller.api import encoding
from controller.api.asked import AdminRequest, access_of, body_of, principal_of, query_of, service_of, user_of
from controller.schema.fleet.rollouts import (
    QuarantineQuestion,
    RollbackQuestion,
    RolloutQuery,
    RolloutQuestion,
    RolloutsQuery,
)

_APPROVALS = ("approve", "promote")
"""What lets a rollout go on that waits for somebody: the one who pushed may be an operator."""


@get("/rollouts")
async def rollouts(request: AdminRequest) -> Response[bytes]:
    """`saltern rollout list`."""
    return encoding.answer(tuple(service_of(request).rollouts(query_of(request, RolloutsQuery).limit)))


@get("/rollout")
async def rollout(request: AdminRequest) -> Response[bytes]:
    """`saltern rollout show`."""
    return encoding.answer(service_of(request).rollout(query_of(request, RolloutQuery).name))


@post("/rollout/change", status_code=200)
async def change(request: AdminRequest) -> Response[bytes]:
    """`saltern rollout pause` and the like."""
    asked = await body_of(request, RolloutQuestion)
    if asked.action in _APPROVALS:
        detail = {"name": asked.name}
        access_of(request).require(principal_of(request), "approver", f"{asked.action} a rollout", detail)
    return encoding.answer(service_of(request).change_rollout(asked.name, asked.action, user=user_of(request)))


@get("/quarantine")
async def quarantine(request: AdminRequest) -> Response[bytes]:
    """`saltern rollback --list`."""
    return encoding.answer(tuple(service_of(request).quarantined()))


@post("/rollback", status_code=200)
async def rollback(request: AdminRequest) -> Response[bytes]:
    """`saltern rollback`."""
    asked = await body_of(request, RollbackQuestion)
    return encoding.answer(await service_of(request).roll_back(asked, user=user_of(request)))


@post("/quarantine/release", status_code=200)
async def release(request: AdminRequest) -> Response[bytes]:
    """`saltern rollback --undo`."""
    asked = await body_of(request, QuarantineQuestion)
    return encoding.answer(tuple(await service_of(request).release_quarantined(asked, user=user_of(request))))


ROUTES: Final = (rollouts, rollout, change, quarantine, rollback, release)
