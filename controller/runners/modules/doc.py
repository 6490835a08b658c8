"""The runner `doc`: what functions take and do."""

from __future__ import annotations

from controller.runners.context import RunnerContext
from controller.runners.registry import FunctionKind, find, names, usage
from minion.execution import loader


async def runner(context: RunnerContext, name: str = "") -> dict[str, str]:
    """What runners take and do: one, those of a module, or all; those of the tree, too."""
    own = await context.ports.processes.documentation_of_tree(context)
    return {**_docs("runner", name), **{fun: text for fun, text in own.items() if _meant(fun, name)}}


async def wheel(context: RunnerContext, name: str = "") -> dict[str, str]:
    """What wheels take and do: one, those of a module, or all."""
    return _docs("wheel", name)


async def execution(context: RunnerContext, name: str = "") -> dict[str, str]:
    """What execution functions of minions take and do: one, those of a module, or all."""
    wanted = [fun for fun in loader.names() if _meant(fun, name)]
    return {fun: loader.usage(fun, loader.find(fun)) for fun in wanted}


def _docs(kind: FunctionKind, name: str) -> dict[str, str]:
    return {fun: usage(fun, find(kind, fun)) for fun in names(kind) if _meant(fun, name)}


def _meant(fun: str, name: str) -> bool:
    return not name or fun == name or fun.startswith(f"{name.removesuffix('.')}.")


FUNCTIONS = {"execution": execution, "runner": runner, "wheel": wheel}
