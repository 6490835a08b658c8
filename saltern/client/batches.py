"""A function on so many minions at a time, for `LocalClient.cmd_batch`."""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from extmods.salt_compat.exceptions import SaltInvocationError
from saltern.client.jobs import FunctionJobs, Job

_PAUSE = 0.01
"""Seconds between looks at all that go on, when none of them has news."""


class Batch:
    """A window over minions: where one has returned, the next begins.

    Args:
        minions: all of them.
        size: how many at a time, a number or a part of all as `10%`.
        begin: begins the job of one.
        failhard: begin no more after one that failed.
        batch_wait: seconds between a return and the minion that takes its place.
        raw: give what an event of a return has, not its value.

    Raises:
        SaltInvocationError: the size is none.

    Source: salt.cli.batch.Batch.
    """

    def __init__(
        self,
        minions: Sequence[str],
        size: str | int,
        begin: Callable[[str], Job | FunctionJobs],
        *,
        failhard: bool = False,
        batch_wait: float = 0,
        raw: bool = False,
    ) -> None:
        self._size = size_of(size, len(minions))
        self._waiting = deque(minions)
        self._begin = begin
        self._failhard, self._wait, self._raw = failhard, float(batch_wait), raw

    def returns(self) -> Iterator[dict[str, Any]]:
        """`{minion: value}` as they come."""
        going: list[Iterator[dict[str, Any] | None]] = []
        free: deque[float] = deque([0.0] * self._size)
        """When each place of the window may be taken again."""
        stopped = False
        while going or (self._waiting and not stopped):
            while self._waiting and not stopped and free and free[0] <= time.monotonic():
                free.popleft()
                going.append(self._begin(self._waiting.popleft()).returns_or_none())
            silent = True
            for one in tuple(going):
                news = next(one, _OVER)
                if news is _OVER:
                    going.remove(one)
                    free.append(time.monotonic() + self._wait)
                elif news is not None:
                    silent = False
                    stopped = stopped or (self._failhard and any(failed(data["retcode"]) for data in news.values()))
                    yield self._shown(news)
            if silent and len(going) < self._size:
                time.sleep(_PAUSE)

    def _shown(self, news: dict[str, Any]) -> dict[str, Any]:
        if not self._raw:
            return {minion: data["ret"] for minion, data in news.items()}
        minion, data = next(iter(news.items()))
        return {"data": {**data, "id": minion, "return": data["ret"]}}


def failed(retcode: Any) -> bool:
    """Whether an exit code, or one of those of several functions, says so."""
    return any(retcode.values()) if isinstance(retcode, dict) else bool(retcode)


_OVER: Any = object()


def size_of(given: str | int, minions: int) -> int:
    """How many at a time; SaltInvocationError for what is no size."""
    text = str(given).strip()
    try:
        number = float(text.strip("%")) / 100 * minions if "%" in text else int(text)
    except ValueError:
        raise SaltInvocationError(f"batch is a number or a part of the minions as 10%, not {given!r}") from None
    if not math.isfinite(number) or number < 0:
        raise SaltInvocationError(f"batch is a number or a part of the minions as 10%, not {given!r}")
    return max(1, math.ceil(number) if number < 1 else int(number))
