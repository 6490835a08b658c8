"""The runner `event`: an event of one's own."""

from __future__ import annotations

from collections.abc import Mapping

from controller.runners.context import RunnerContext
from minion.arguments.types import AnyValue


async def send(context: RunnerContext, tag: str, data: AnyValue = None) -> bool:
    """Publish an event with this tag and data; what is no mapping stands below `data`."""
    body = dict(data) if isinstance(data, Mapping) else {} if data is None else {"data": data}
    context.ports.bus.publish(tag, body, cause=context.cause)
    return True


FUNCTIONS = {"send": send}
