"""The runner `saltutil`: in Salt it copies modules of the tree to the master. Here git has them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from controller.runners.context import RunnerContext
from minion.arguments.types import AnyValue

KINDS = (
    "grains",
    "modules",
    "pillar",
    "renderers",
    "returners",
    "runners",
    "sdb",
    "states",
    "tops",
    "utils",
    "engines",
)
_WHY = "nothing is copied: the controller reads modules of the tree from git, as the live revision has them"


async def sync_all(
    context: RunnerContext, saltenv: str = "base", extmod_whitelist: AnyValue = None, extmod_blacklist: AnyValue = None
) -> dict[str, list[str]]:
    """What is new of each kind of modules: nothing ever, since the live revision is read from git."""
    context.say({"message": _WHY})
    return {kind: [] for kind in KINDS}


def _sync(kind: str) -> Callable[..., Awaitable[Any]]:
    async def sync(
        context: RunnerContext,
        saltenv: str = "base",
        extmod_whitelist: AnyValue = None,
        extmod_blacklist: AnyValue = None,
    ) -> list[str]:
        context.say({"message": _WHY})
        return []

    sync.__doc__ = f"What is new of `_{kind}`: nothing ever, since the live revision is read from git."
    return sync


FUNCTIONS = {"sync_all": sync_all, **{f"sync_{kind}": _sync(kind) for kind in KINDS}}
