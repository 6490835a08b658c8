"""The function and the arguments of a run, as Salt's jobs and events have them. Pure."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Mapping
from typing import Any

from controller.store import RunRecord
from minion.call.arguments import BadArgument, parse


def function_of(run: RunRecord) -> str:
    """The function of a run: runs of a highstate have that of Salt."""
    if run.kind in ("runner", "wheel"):
        return f"{run.kind}.{run.fun}"
    if run.fun:
        return run.fun
    return "state.highstate" if run.keys is None else "state.apply"


def arguments_of(run: RunRecord) -> list[Any]:
    """Its arguments as a job has them: named ones in a mapping that is marked. Those cut by their length are a text."""
    if run.kind not in ("call", "runner", "wheel"):
        return [{"__kwarg__": True, "test": True}] if run.test else []
    return typed(run.args)


def typed(text: str) -> list[Any]:
    """Arguments from the words that one would type, as `arguments_of` has them."""
    return list(_typed(text)) if text else []


@functools.lru_cache(maxsize=64)
def _typed(text: str) -> list[Any]:
    """As `typed`; the minions of a job have the same arguments."""
    try:
        args, kwargs = parse(shlex.split(text))
    except (BadArgument, ValueError):
        return [text]
    return [*args, *([{"__kwarg__": True, **kwargs}] if kwargs else [])]


def unmarked(argument: Any) -> Any:
    """An argument as an event has it: named ones without their mark."""
    if not isinstance(argument, Mapping):
        return argument
    return {name: one for name, one in argument.items() if name != "__kwarg__"}
