"""What a runner says while it runs, for whoever waits for it. Nobody who reads slowly has it wait for ever."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping
from typing import Any, TypeAlias

MOST_NEWS = 1000
"""What nobody has read yet; more progress than that is not kept, and what is printed waits."""

News: TypeAlias = "str | Mapping[str, Any]"
"""Text that is printed, or the data of a progress event."""


class Listener:
    """Who waits for one call."""

    def __init__(self) -> None:
        self._news: asyncio.Queue[News] = asyncio.Queue(MOST_NEWS)
        self._gone = asyncio.Event()

    async def write(self, text: str) -> None:
        """Have a text printed; waits while too much is unread, and drops it when nobody reads any more."""
        if not self._gone.is_set():
            await self._news.put(text)

    def tell(self, data: Mapping[str, Any]) -> None:
        """Show the data of a progress event."""
        with contextlib.suppress(asyncio.QueueFull):
            if not self._gone.is_set():
                self._news.put_nowait(data)

    async def gone(self) -> None:
        """Wait until nobody reads any more."""
        await self._gone.wait()

    def leave(self) -> None:
        """Read no more."""
        self._gone.set()
        while not self._news.empty():  # whoever waits for room goes on
            self._news.get_nowait()

    async def news_until(self, task: asyncio.Future[Any], timeout: float) -> AsyncIterator[News]:
        """What is said until a task has ended, or for so many seconds; 0: until it has ended."""
        reading = asyncio.ensure_future(self._news.get())
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        try:
            while True:
                await asyncio.sleep(0)  # what is there already is read before the task's end is seen
                left = max(0.0, deadline - loop.time()) if timeout else None
                await asyncio.wait({reading, task}, timeout=left, return_when=asyncio.FIRST_COMPLETED)
                if not reading.done():
                    return
                yield reading.result()
                reading = asyncio.ensure_future(self._news.get())
        finally:
            reading.cancel()
