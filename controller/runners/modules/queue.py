"""The runner `queue`: items that wait in the store for a reactor, an orchestration or a person to take them.

Behaviour: salt/runners/queue.py with the backend sqlite; an item is in a queue once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from controller.runners.context import RunnerContext
from controller.runners.errors import ControllerCallFailed
from minion.arguments.types import AnyValue, Unsupported

_LONGEST_NAME = 255
Backend = Literal["sqlite", "pgjson", "pgjsonb"]
"""Accepted, whatever it says: the store keeps the queues."""
OfRunners = Annotated[bool, Unsupported("queue items, and have a reactor or an orchestration call runners")]


async def insert(context: RunnerContext, queue: str, items: AnyValue, backend: Backend = "sqlite") -> bool:
    """Add an item, or each of a list, at the end; all or none.

    Args:
        context: of the call.
        queue: its name; it need not be there before.
        items: texts, numbers or mappings; a text may be JSON's.
        backend: accepted.
    """
    if not 0 < len(queue) <= _LONGEST_NAME:
        raise ControllerCallFailed(f"the name of a queue has 1 to {_LONGEST_NAME} characters")
    there = context.ports.store.queues.insert(queue, _listed(items))
    if there is not None:
        raise ControllerCallFailed(f"{there!r} is in the queue {queue!r} already; nothing was added")
    return True


async def delete(context: RunnerContext, queue: str, items: AnyValue, backend: Backend = "sqlite") -> bool:
    """Take out an item, or each of a list, wherever they stand. True, also where none was there."""
    context.ports.store.queues.delete(queue, _listed(items))
    return True


async def list_queues(context: RunnerContext, backend: Backend = "sqlite") -> list[str]:
    """Queues in which something waits."""
    return context.ports.store.queues.names()


async def list_length(context: RunnerContext, queue: str, backend: Backend = "sqlite") -> int:
    """How many items wait in a queue."""
    return context.ports.store.queues.length(queue)


async def list_items(context: RunnerContext, queue: str, backend: Backend = "sqlite") -> list[Any]:
    """What waits in a queue, the next to be taken first."""
    return context.ports.store.queues.items(queue)


async def pop(
    context: RunnerContext,
    queue: str,
    quantity: int | Literal["all"] = 1,
    backend: Backend = "sqlite",
    is_runner: OfRunners = False,
) -> list[Any]:
    """Take out the next items, so many or `all`."""
    count = None if quantity == "all" else int(quantity)
    if count is not None and count < 1:
        raise ControllerCallFailed("quantity must be a number above 0, or all")
    return context.ports.store.queues.pop(queue, count)


async def process_queue(
    context: RunnerContext,
    queue: str,
    quantity: int | Literal["all"] = 1,
    backend: Backend = "sqlite",
    is_runner: OfRunners = False,
) -> dict[str, Any]:
    """Take out the next items and publish them as the event `salt/queue/QUEUE/process`, for reactors."""
    items = await pop(context, queue, quantity, backend)
    data = {"items": items, "backend": backend, "queue": queue}
    context.ports.bus.publish(f"salt/queue/{queue}/process", data, cause=context.cause)
    return data


def _listed(items: Any) -> Sequence[Any]:
    return items if isinstance(items, list) else [items]


FUNCTIONS = {
    "delete": delete,
    "insert": insert,
    "list_items": list_items,
    "list_length": list_length,
    "list_queues": list_queues,
    "pop": pop,
    "process_queue": process_queue,
}
