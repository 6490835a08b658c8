"""The runner `salt`: execution functions, here and on minions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from controller.runners import fleet
from controller.runners.context import RunnerContext
from minion.arguments.types import AnyValue, Ignored, Map


async def cmd(context: RunnerContext, fun: str, *args: Any, **kwargs: Any) -> Any:
    """Call an execution function on the controller's machine, as its user, in a process of its own."""
    kwargs.pop("with_pillar", None)
    given = {name: one for name, one in kwargs.items() if not name.startswith("__")}
    return await context.ports.processes.execution_function(context, fun, args, given)


async def execute(
    context: RunnerContext,
    tgt: AnyValue,
    fun: str,
    arg: AnyValue = (),
    timeout: float | None = None,
    tgt_type: str = "glob",
    ret: AnyValue = "",
    jid: Annotated[str, Ignored("each job has its own id")] = "",
    kwarg: Map | None = None,
    **kwargs: Any,
) -> dict[str, Any]:
    """Call an execution function on minions; what they returned, by minion. Who does not answer is left out.

    Args:
        context: of the call.
        tgt: which minions.
        fun: the function.
        arg: its arguments by position.
        timeout: seconds that are waited for returns.
        tgt_type: what kind of target it is.
        ret: returners that get the values as well.
        jid: accepted.
        kwarg: arguments by name.
        kwargs: more of them.
    """
    listed = arg if isinstance(arg, list | tuple) else [arg]
    named: Mapping[str, Any] = {**(kwarg or {}), **kwargs}
    returners = [str(one) for one in (ret if isinstance(ret, list | tuple) else [ret])]
    return await fleet.execute(context, tgt, fun, listed, named, tgt_type=tgt_type, timeout=timeout, ret=returners)


FUNCTIONS = {"cmd": cmd, "execute": execute}
