"""The runner `error`: fails on purpose, to try what follows a failure."""

from __future__ import annotations

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed


async def error(context: RunnerContext, name: str | None = None, message: str = "") -> None:
    """Fail with a message.

    Args:
        context: of the call.
        name: what stands before the message.
        message: what is said.
    """
    said = f"{name}: {message}" if name else message
    raise ControllerCallFailed(said or "error.error was called without a message")


FUNCTIONS = {"error": error}
