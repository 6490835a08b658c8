"""The runner `survey`: which minions return the same, and how the others differ."""

from __future__ import annotations

import difflib
from typing import Any

from controller.runners import fleet
from controller.runners.context import RunnerContext


async def hash(  # noqa: A001 - Salt's name
    context: RunnerContext, tgt: str, fun: str, *args: Any, survey_sort: str = "down", **kwargs: Any
) -> list[dict[str, Any]]:
    """Call a function on minions; each value that some of them returned, with those minions (`pool`).

    Args:
        context: of the call.
        tgt: a compound target; of another kind with `tgt_type`.
        fun: the function.
        args: its arguments.
        survey_sort: `down` has the largest group first, `up` the smallest.
        kwargs: more arguments of the function.
    """
    tgt_type = str(kwargs.pop("tgt_type", "compound"))
    returned = await fleet.execute(context, tgt, fun, args, kwargs, tgt_type=tgt_type)
    pools: dict[str, list[str]] = {}
    for minion, value in returned.items():
        pools.setdefault(str(value), []).append(minion)
    found = [{"pool": pool, "result": result} for result, pool in pools.items()]
    return sorted(found, key=lambda one: len(one["pool"]), reverse=survey_sort != "up")


async def diff(
    context: RunnerContext, tgt: str, fun: str, *args: Any, survey_sort: str = "down", **kwargs: Any
) -> list[dict[str, Any]]:
    """The same, and how each group's value differs from that of the first group, printed."""
    found = await hash(context, tgt, fun, *args, survey_sort=survey_sort, **kwargs)
    for number, one in enumerate(found):
        pool = ", ".join(one["pool"])
        if number == 0:
            await context.listener.write(
                f"minion pool :\n------------\n{pool}\n\npool size :\n----------\n{len(one['pool'])}\n"
            )
            continue
        lines = difflib.unified_diff(
            found[0]["result"].splitlines(),
            one["result"].splitlines(),
            found[0]["pool"][0],
            one["pool"][0],
            n=0,
            lineterm="",
        )
        await context.listener.write("\n".join([f"minion pool :\n------------\n{pool}\n", *lines, ""]))
    return found


FUNCTIONS = {"diff": diff, "hash": hash}
