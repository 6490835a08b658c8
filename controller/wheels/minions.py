"""The wheel `minions`: who is connected."""

from __future__ import annotations

from controller.runners.context import RunnerContext


async def connected(context: RunnerContext) -> list[str]:
    """Ids of the minions that are connected, sorted."""
    return sorted(session.minion for session in context.ports.sessions)


FUNCTIONS = {"connected": connected}
