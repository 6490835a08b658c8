"""The runner `sdb`: values of the profiles in the controller's configuration."""

from __future__ import annotations

import asyncio
from typing import Any

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from highstate.ports import SecretFailed


async def get(context: RunnerContext, uri: str) -> Any:
    """The value at `sdb://PROFILE/KEY`; null where there is none. A text that is no such address is returned."""
    if not uri.startswith("sdb://"):
        return uri
    try:
        return await asyncio.to_thread(context.ports.profiles.get, uri)
    except SecretFailed as error:
        raise ControllerCallFailed(str(error)) from error


FUNCTIONS = {"get": get}
