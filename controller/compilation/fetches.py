"""The fetches of a controller: at most one of a remote at a time, and none that waits for another remote.

Called by `controller.compilation.source_reconciler` for each notice. Whoever asks while a remote is being fetched gets
the fetch after it, which sees what was pushed meanwhile; everyone who asks until that one begins shares it. Decides
nothing about when, and runs none itself: `gitfs.fetching` does.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import TypeAlias

from gitfs.errors import FetchFailed
from gitfs.mirror.fetched import Fetched
from gitfs.source import Source

PATIENCE = 5.0
"""Seconds until a remote that does not answer is reported."""

Outcome: TypeAlias = Fetched | FetchFailed


class Fetches:
    """The fetches of a source. `close` it; what is under way is not heard any more.

    Args:
        source: the remotes.
        ended: hears what a fetch brought, and how many seconds it took.
        late: called with a remote whose fetch takes long and goes on.
    """

    def __init__(
        self, source: Source, ended: Callable[[Outcome, float], None], late: Callable[[FetchFailed], None]
    ) -> None:
        self._source = source
        self._ended = ended
        self._late = late
        self._locks: dict[str, asyncio.Lock] = {}
        self._next: dict[str, asyncio.Task[None]] = {}
        """Remote -> its fetch that has not begun."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str) -> asyncio.Task[None]:
        """The fetch of this remote that begins now, or after the one that is under way."""
        if name not in self._next:
            task = self._next[name] = asyncio.create_task(self._fetch(name), name=f"fetch {name}")
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        return self._next[name]

    def close(self) -> None:
        """Listen to no fetch any more."""
        for task in self._tasks:
            task.cancel()

    async def _fetch(self, name: str) -> None:
        async with self._locks.setdefault(name, asyncio.Lock()):
            del self._next[name]
            began = time.monotonic()
            fetching = [asyncio.wrap_future(each) for each in self._source.start_fetch(name)]
            for each in fetching:
                each.add_done_callback(_retrieve)
            if fetching and (await asyncio.wait(fetching, timeout=PATIENCE))[1]:
                reason = f"it has not answered in {PATIENCE:g} s and is still being asked"
                self._late(FetchFailed(name, reason, retryable=True))
            for each in fetching:
                self._ended(await _outcome(each), time.monotonic() - began)


async def _outcome(fetching: asyncio.Future[Fetched]) -> Outcome:
    try:
        return await fetching
    except FetchFailed as error:
        return error


def _retrieve(fetching: asyncio.Future[Fetched]) -> None:
    """Have asyncio not report a failure that nobody listens to any more, because the controller stops."""
    if not fetching.cancelled():
        fetching.exception()
