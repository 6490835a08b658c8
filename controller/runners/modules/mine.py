"""The runner `mine`: what minions have put into the mine."""

from __future__ import annotations

from typing import Any

from controller.runners import fleet
from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from highstate.ports import question
from minion.arguments.types import AnyValue
from wire.messages import FactQuery


async def get(context: RunnerContext, tgt: AnyValue, fun: AnyValue, tgt_type: str = "glob") -> Any:
    """What a function of the mine gave on the minions that a target means; of several functions, by function."""
    asked = FactQuery(fun="mine.get", asked=question([tgt, fun], {"tgt_type": tgt_type}))
    answer = context.ports.mines.answer(asked, None).answer
    if answer.error:
        raise ControllerCallFailed(answer.error)
    return answer.value


async def update(
    context: RunnerContext,
    tgt: AnyValue,
    tgt_type: str = "glob",
    clear: bool = False,
    mine_functions: AnyValue = None,
) -> dict[str, Any]:
    """Have minions put their values into the mine anew; with `clear`, without those that they had."""
    given = {"clear": clear, "mine_functions": mine_functions}
    return await fleet.execute(context, tgt, "mine.update", kwargs=given, tgt_type=tgt_type)


FUNCTIONS = {"get": get, "update": update}
