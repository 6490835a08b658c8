"""Agents of minions that are replaced."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Final

from controller.api.asked import AdminRequest, service_of, user_of
from controller.api.operations import get, post
from controller.schema.fleet.replacements import ReplacementQuestion, ReplacementView


@post("/agents/replace")
async def replace_agents(request: AdminRequest, body: ReplacementQuestion) -> AsyncIterator[ReplacementView]:
    """Replace stock salt-minions by the minion of Saltern, or back; each step as it comes (`saltern migrate agent`)."""
    return await service_of(request).replace_agents(body, user=user_of(request))


@get("/agents/replacements")
async def replacements(request: AdminRequest) -> tuple[ReplacementView, ...]:
    """How far that is, or how it ended: of each minion the newest (`saltern migrate status`)."""
    return tuple(service_of(request).replacements())


ROUTES: Final = (replace_agents, replacements)
"""Its routes."""
