"""Questions that look through the store: a few at a time, in threads of their own. Called by the service.

One takes seconds where somebody wants it to. Threads that others share would all wait for such questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeVar

from controller.schema.errors import ServiceError
from controller.store.errors import QuestionGivenUp
from options.limits import CountRefusal

_Found = TypeVar("_Found")


@dataclass(slots=True, kw_only=True)
class Lookups:
    """Questions of people about what was.

    Args:
        at_once: so many are answered at the same time.
        most: so many are answered or wait; more are refused.
        on_refusal: see `options.limits.CountRefusal`.
    """

    at_once: int
    most: int
    on_refusal: CountRefusal
    _asked: int = 0
    _threads: ThreadPoolExecutor = field(init=False)

    def __post_init__(self) -> None:
        self._threads = ThreadPoolExecutor(max_workers=self.at_once, thread_name_prefix="lookup")

    async def ask(self, look: Callable[[], _Found]) -> _Found:
        """What a look finds. ServiceError when too many wait, and for one that takes too long."""
        if self._asked >= self.most:
            self.on_refusal("lookups")
            hint = "ask again in a moment, or raise limits: api: lookups"
            raise ServiceError("too-many-requests", "other questions wait already", hint=hint, retry_after=1)
        self._asked += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, look)
        except QuestionGivenUp as error:
            raise ServiceError("unavailable", str(error), hint="ask for less at once") from error
        finally:
            self._asked -= 1
