"""Functions and test runs on minions, for somebody who waits: `saltern run`, `saltern sync`, live previews.

Called by the service. Results come through the inbox, which resolves the futures kept here by run id.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.fleet import Fleet
from controller.identifiers import RunIds
from controller.metrics import Metrics
from controller.store import RunRecord, Store
from controller.views import CallReturn
from wire import Server
from wire.messages import Call, RunResult, ToMinion

DEADLINE = 3600.0
"""Seconds after which a call without a time limit is no longer waited for."""


@dataclass(slots=True, kw_only=True)
class Calls:
    """Sends messages that ask for a result, and waits."""

    store: Store
    fleet: Fleet
    server: Server
    ids: RunIds
    metrics: Metrics
    clock: Callable[[], float]
    waiters: dict[str, asyncio.Future[RunResult]]

    async def call(
        self, minions: Sequence[str], fun: str, args: Sequence[Any], kwargs: Mapping[str, Any], timeout: float
    ) -> AsyncIterator[CallReturn]:
        """One return a minion, as they come; `timeout` in seconds, 0 for none."""
        asked = {}
        for minion in minions:
            run = RunRecord(
                run_id=self.ids.next(), minion=minion, kind="call", created=self.clock(), cause=f"saltern run {fun}"
            )
            message = Call(run_id=run.run_id, fun=fun, args=tuple(args), kwargs=dict(kwargs), timeout=timeout)
            asked[minion] = self.ask(run, message)
        async for minion, run_id, result in self.gather(asked, (timeout or DEADLINE) + 5.0):
            yield _returned(minion, run_id, result, timeout)

    def ask(self, run: RunRecord, message: ToMinion) -> tuple[str, asyncio.Future[RunResult] | None]:
        """Record a run and send its message; (run id, future), the future None when the minion is not connected."""
        link = self.fleet.link(run.minion)
        if link is None:
            return "", None
        self.store.create_run(run)
        future: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
        self.waiters[run.run_id] = future
        self.metrics.sent(type(message).__name__)
        self.server.send(link.key, message)
        return run.run_id, future

    def wait(self, run_id: str) -> asyncio.Future[RunResult]:
        """The result of a run that somebody else started."""
        return self.waiters.setdefault(run_id, asyncio.get_running_loop().create_future())

    async def gather(
        self, asked: Mapping[str, tuple[str, asyncio.Future[RunResult] | None]], timeout: float
    ) -> AsyncIterator[tuple[str, str, RunResult | None]]:
        """(minion, run id, result) as results come; None for who is not connected or does not answer in time."""
        waiting: dict[asyncio.Future[RunResult], tuple[str, str]] = {}
        for minion, (run_id, future) in asked.items():
            if future is None:
                yield minion, "", None
            else:
                waiting[future] = (minion, run_id)
        deadline = asyncio.get_running_loop().time() + timeout
        try:
            while waiting:
                left = deadline - asyncio.get_running_loop().time()
                done, _ = await asyncio.wait(waiting, timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
                if not done:
                    break
                for future in done:
                    minion, run_id = waiting.pop(future)
                    yield minion, run_id, future.result()
            for minion, run_id in waiting.values():
                yield minion, run_id, None
        finally:
            for _, run_id in waiting.values():
                self.waiters.pop(run_id, None)


def _returned(minion: str, run_id: str, result: RunResult | None, timeout: float) -> CallReturn:
    if result is None:
        why = f"Minion did not return within {timeout:g} s" if run_id else "Minion did not return. [Not connected]"
        return CallReturn(minion=minion, ok=False, run_id=run_id, answered=False, error=why)
    return CallReturn(
        minion=minion,
        ok=result.outcome in ("ok", "changed", "pending"),
        run_id=run_id,
        value=result.value if result.value is not None or not result.states else result.states,
        error=result.error,
        seconds=result.seconds,
    )
