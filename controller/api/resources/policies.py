"""The policy of minions."""

from __future__ import annotations

from typing import Final

from litestar import Response, get

from controller.api import encoding
from controller.api.asked import AdminRequest, query_of, service_of
from controller.schema.requests import PolicyQuery


@get("/policy")
async def policy(request: AdminRequest) -> Response[bytes]:
    """`saltern policy explain`."""
    return encoding.answer(await service_of(request).policy(query_of(request, PolicyQuery).minion))


ROUTES: Final = (policy,)
