"""Results one after the other, the next of which is made while one is used. Called by `preview`."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable
from typing import Any, TypeVar

_Result = TypeVar("_Result")


async def one_ahead(makers: Iterable[Callable[[], Coroutine[Any, Any, _Result]]]) -> AsyncGenerator[_Result, None]:
    """What the makers give, in their order; what is being made is cancelled when the generator is closed."""
    tasks: deque[asyncio.Task[_Result]] = deque()
    try:
        for make in makers:
            tasks.append(asyncio.ensure_future(make()))
            if len(tasks) > 1:
                yield await tasks[0]
                tasks.popleft()
        if tasks:
            yield await tasks[0]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
