"""The runner `cache`: what the controller knows of minions."""

from __future__ import annotations

from typing import Any

from controller.runners import fleet
from controller.runners.context import RunnerContext
from minion.arguments.types import AnyValue


async def grains(context: RunnerContext, tgt: AnyValue = "*", tgt_type: str = "glob") -> dict[str, Any]:
    """The grains that minions sent last, by minion."""
    wanted = set(await fleet.select(context, tgt, tgt_type))
    return {each.id: dict(each.grains) for each in context.ports.store.minions.all() if each.id in wanted}


async def pillar(context: RunnerContext, tgt: AnyValue = "*", tgt_type: str = "glob") -> dict[str, Any]:
    """The pillar of the last compile that succeeded, by minion."""
    return {minion: context.ports.targets.pillar_of(minion) for minion in await fleet.select(context, tgt, tgt_type)}


async def mine(context: RunnerContext, tgt: AnyValue = "*", tgt_type: str = "glob") -> dict[str, Any]:
    """All that minions have in the mine, by minion and function; without minions that have nothing there."""
    found = {minion: context.ports.store.mines.of(minion) for minion in await fleet.select(context, tgt, tgt_type)}
    return {minion: {fun: one.value for fun, one in entries.items()} for minion, entries in found.items() if entries}


async def clear_mine(context: RunnerContext, tgt: AnyValue = None, tgt_type: str = "glob") -> bool:
    """Forget all that minions have in the mine; they put it there again by their `mine_interval`."""
    if tgt is None:
        return False
    for minion in await fleet.select(context, tgt, tgt_type):
        context.ports.mines.put(minion, {})
    return True


async def clear_mine_func(
    context: RunnerContext, tgt: AnyValue = None, tgt_type: str = "glob", clear_mine_func_flag: str | None = None
) -> bool:
    """Forget what minions have of one function in the mine (`clear_mine_func_flag`)."""
    if tgt is None or not clear_mine_func_flag:
        return False
    for minion in await fleet.select(context, tgt, tgt_type):
        entries = context.ports.store.mines.of(minion)
        if entries.pop(clear_mine_func_flag, None) is not None:
            context.ports.mines.put(minion, entries)
    return True


FUNCTIONS = {
    "clear_mine": clear_mine,
    "clear_mine_func": clear_mine_func,
    "grains": grains,
    "mine": mine,
    "pillar": pillar,
}
