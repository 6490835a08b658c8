"""The wheel `error`: fails on purpose, to try what follows a failure."""

from __future__ import annotations

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed


async def error(context: RunnerContext, name: str | None = None, message: str = "") -> dict[str, str]:
    """Fail with a message; without a `name`, return an empty mapping.

    Args:
        context: of the call.
        name: that of an error, as `ValueError`.
        message: what is said.
    """
    if name is None:
        return {}
    raise ControllerCallFailed(f"{name}: {message}")


FUNCTIONS = {"error": error}
