"""The runner `pillar`: the pillar of a minion."""

from __future__ import annotations

from typing import Any

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed


async def show_pillar(context: RunnerContext, minion: str) -> dict[str, Any]:
    """The pillar of a minion as its last compile that succeeded has it.

    Args:
        context: of the call.
        minion: its id.
    """
    store = context.ports.store
    desired = store.desired.get(minion)
    if desired is None:
        raise ControllerCallFailed(f"nothing is compiled for {minion!r}; `saltern status` lists the minions")
    if desired.errors:
        context.say({"message": f"the newest compile of {minion} failed: {desired.errors[0].message}"})
    return context.ports.targets.pillar_of(minion)


FUNCTIONS = {"show_pillar": show_pillar}
