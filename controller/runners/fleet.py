"""What runners ask of minions: which ones a target means, and functions that are called on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from controller.schema.errors import ServiceError
from controller.schema.requests import CallQuestion
from controller.schema.runs import CallReturn
from controller.schema.targets import TargetExpression

CALL_SECONDS = 30.0
"""That a runner waits for minions when it is not told otherwise."""


def target_of(tgt: Any, tgt_type: str = "glob") -> TargetExpression:
    """A target as the functions of Salt take it; ControllerCallFailed for what is none."""
    expression = ",".join(map(str, tgt)) if isinstance(tgt, list | tuple) else str(tgt)
    kind = "list" if isinstance(tgt, list | tuple) and tgt_type == "glob" else tgt_type
    try:
        return msgspec.convert({"expression": expression, "kind": kind}, TargetExpression)
    except msgspec.ValidationError:
        raise ControllerCallFailed(f"there is no tgt_type {tgt_type!r}; see the option -C of `saltern run`") from None


async def select(context: RunnerContext, tgt: Any, tgt_type: str = "glob") -> list[str]:
    """Accepted minions that a target means, sorted; none is said as progress. ControllerCallFailed for a bad target."""
    try:
        return await context.ports.targets.find(target_of(tgt, tgt_type))
    except ServiceError as error:
        if error.kind != "no-target":
            raise ControllerCallFailed(error.message) from None
        context.say({"message": error.message})
        return []


async def call(
    context: RunnerContext,
    tgt: Any,
    fun: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tgt_type: str = "glob",
    timeout: float | None = None,
    ret: Sequence[str] = (),
) -> dict[str, CallReturn]:
    """The returns of minions by id; of those that did not answer, too."""
    target = target_of(tgt, tgt_type)
    minions = await select(context, tgt, tgt_type)
    question = CallQuestion(
        target=target,
        fun=fun,
        args=tuple(args),
        kwargs=dict(kwargs or {}),
        timeout=timeout or CALL_SECONDS,
        ret=tuple(ret),
    )
    returns = context.ports.jobs.call(minions, question, user=context.user)
    return {one.minion: one async for one in returns if isinstance(one, CallReturn)}


async def execute(
    context: RunnerContext,
    tgt: Any,
    fun: str,
    args: Sequence[Any] = (),
    kwargs: Mapping[str, Any] | None = None,
    *,
    tgt_type: str = "glob",
    timeout: float | None = None,
    ret: Sequence[str] = (),
) -> dict[str, Any]:
    """What minions returned, by id, as Salt's client gives it; who did not answer is left out, and said as progress."""
    found = await call(context, tgt, fun, args, kwargs, tgt_type=tgt_type, timeout=timeout, ret=ret)
    silent = sorted(minion for minion, one in found.items() if not one.answered)
    if silent:
        context.say({"message": f"no answer of {', '.join(silent)}"})
    return {minion: told(one) for minion, one in sorted(found.items()) if one.answered}


def told(returned: CallReturn) -> Any:
    """The value of a return; the text of its error where it has none."""
    return returned.error if returned.error and returned.value is None else returned.value
