"""Rollouts and rollbacks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from controller.api.asked import AdminRequest, access_of, principal_of, service_of, user_of
from controller.api.operations import Page, get, page, post
from controller.schema.fleet.rollouts import (
    QuarantineQuestion,
    QuarantineView,
    RollbackQuestion,
    RolloutQuery,
    RolloutQuestion,
    RolloutsQuery,
    RolloutView,
)

_APPROVALS = ("approve", "promote")
"""What lets a rollout go on that waits for somebody: the one who pushed may be an operator."""

_MOST_ROLLOUTS = 200


@get("/rollouts")
async def rollouts(request: AdminRequest, query: RolloutsQuery) -> Page[RolloutView]:
    """The newest rollouts, newest first (`saltern rollout list`)."""
    found = [each for each in service_of(request).rollouts(_MOST_ROLLOUTS) if query.phase in ("", each.phase)]
    return page(found, query.offset, query.limit)


@get("/rollout")
async def rollout(request: AdminRequest, query: RolloutQuery) -> RolloutView:
    """One rollout with its batches (`saltern rollout show`)."""
    return service_of(request).rollout(query.name)


@post("/rollout/change")
async def change(request: AdminRequest, body: RolloutQuestion) -> RolloutView:
    """Pause, resume, abort, try again, approve, promote or confirm a rollout (`saltern rollout pause` and the like)."""
    if body.action in _APPROVALS:
        detail = {"name": body.name}
        access_of(request).require(principal_of(request), "approver", f"{body.action} a rollout", detail)
    return service_of(request).change_rollout(body.name, body.action, user=user_of(request))


@get("/quarantine")
async def quarantine(request: AdminRequest) -> Sequence[QuarantineView]:
    """Revisions that were taken back, for all or for some minions (`saltern rollback --list`)."""
    return service_of(request).quarantined()


@post("/rollback")
async def rollback(request: AdminRequest, body: RollbackQuestion) -> QuarantineView:
    """Take the live revision back, for all or for some minions (`saltern rollback`)."""
    return await service_of(request).roll_back(body, user=user_of(request))


@post("/quarantine/release")
async def release(request: AdminRequest, body: QuarantineQuestion) -> Sequence[QuarantineView]:
    """Let revisions go live again that were taken back (`saltern rollback --undo`)."""
    return await service_of(request).release_quarantined(body, user=user_of(request))


ROUTES: Final = (rollouts, rollout, change, quarantine, rollback, release)
