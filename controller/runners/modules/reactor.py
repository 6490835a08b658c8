"""The runner `reactor`: which SLS answer events, and changes of it until the controller is started again."""

from __future__ import annotations

from typing import Any

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from minion.arguments.types import AnyValue


async def list_(context: RunnerContext, saltenv: str = "base", test: AnyValue = None) -> list[dict[str, list[str]]]:
    """The tags that are answered, each with its SLS."""
    entries = context.ports.reactors.of(context.ports.live.policy.reactor).entries
    return [{entry.tag: list(entry.sls)} for entry in entries]


async def add(
    context: RunnerContext, event: str, reactors: AnyValue, saltenv: str = "base", test: AnyValue = None
) -> dict[str, Any]:
    """Have events of a tag answered by SLS: one, or a list of them."""
    sls = [reactors] if isinstance(reactors, str) else reactors
    if not isinstance(sls, list) or not sls or not all(isinstance(one, str) and one for one in sls):
        raise ControllerCallFailed(f"reactors must be an SLS or a list of them, not {reactors!r}"[:500])
    return context.ports.reactors.add(context.ports.live.policy.reactor, event, sls)


async def delete(context: RunnerContext, event: str, saltenv: str = "base", test: AnyValue = None) -> dict[str, Any]:
    """Have events of a tag not answered any more."""
    return context.ports.reactors.delete(context.ports.live.policy.reactor, event)


async def is_leader(context: RunnerContext) -> bool:
    """Whether events are answered at all; native rules are not meant."""
    return context.ports.reactors.leads


async def set_leader(context: RunnerContext, value: bool = True) -> bool:
    """Have events answered, or (False) not. Those that come meanwhile are never answered."""
    context.ports.reactors.leads = value
    return value


FUNCTIONS = {"list": list_, "add": add, "delete": delete, "is_leader": is_leader, "set_leader": set_leader}
