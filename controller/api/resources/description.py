"""The description of the API."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from controller.api.asked import AdminRequest
from controller.api.operations import get


@get("/openapi.json")
async def openapi(request: AdminRequest) -> dict[str, Any]:
    """This document: all routes and their types."""
    return await asyncio.to_thread(request.app.state.openapi)


ROUTES: Final = (openapi,)
