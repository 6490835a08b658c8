"""The wheel `config`: the options of the controller."""

from __future__ import annotations

from typing import Any

from controller.runners.context import RunnerContext
from controller.runners.option_values import option_values


async def values(context: RunnerContext) -> dict[str, Any]:
    """All options as they hold. Passwords and what may hold some stand as `***`."""
    return option_values(context.ports.settings)


FUNCTIONS = {"values": values}
