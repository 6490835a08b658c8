"""The policy of minions."""

from __future__ import annotations

from typing import Final

from controller.api.asked import AdminRequest, service_of
from controller.api.operations import get
from controller.schema.fleet.policies import PolicyView
from controller.schema.requests import PolicyQuery


@get("/policy")
async def policy(request: AdminRequest, query: PolicyQuery) -> PolicyView:
    """What of saltern.yaml holds for a minion now (`saltern policy explain`)."""
    return await service_of(request).policy(query.minion)


ROUTES: Final = (policy,)
