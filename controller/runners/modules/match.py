"""The runner `match`: whether a compound target means a minion."""

from __future__ import annotations

from typing import Any

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.runners.fleet import select


async def compound_matches(context: RunnerContext, expr: str, minion_id: str) -> dict[str, Any]:
    """The minion's id below `res` when the target means it, else False."""
    try:
        return {"res": minion_id if minion_id in await select(context, expr, "compound") else False}
    except ControllerCallFailed:
        return {"res": False}


FUNCTIONS = {"compound_matches": compound_matches}
