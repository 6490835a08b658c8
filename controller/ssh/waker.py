"""Visits machines by itself where their policy says so: for what a push wants there, and for drift when that is due.

On the controller's loop. What is wanted of a machine is the reconciler's affair, which is asked by a port.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field

import structlog

from controller.schema.errors import ServiceError
from controller.schema.fleet.ssh import SshQuestion
from controller.schema.targets import TargetExpression
from controller.ssh.visits import SshVisits

log = structlog.get_logger("saltern.ssh")

LOOK_SECONDS = 1.0
"""Between two looks at all machines of the roster."""
RETRY_FIRST = 60.0
"""Seconds after a visit that failed; twice as long after each further one."""
RETRY_MOST = 3600.0
VISIT_SECONDS = 3600.0
"""After which a visit that is still wanted ends all the same; the next one begins anew."""
_LOOKED_AT_ONCE = 200
"""Machines that are looked at before others have their turn."""


@dataclass(frozen=True, slots=True)
class Business:
    """What is wanted of a machine."""

    now: bool = False
    """Something is to be sent or run there."""
    drift: bool = False
    """Drift is to be looked for."""


@dataclass(slots=True, kw_only=True)
class _Failing:
    count: int
    until: float


@dataclass(slots=True, kw_only=True)
class SshWaker:
    """Begins visits.

    Args:
        visits: all visits.
        business: what is wanted of a machine of this id now.
        clock: seconds since the epoch.
    """

    visits: SshVisits
    business: Callable[[str], Business]
    clock: Callable[[], float]
    _failing: dict[str, _Failing] = field(default_factory=dict)
    _going: dict[str, asyncio.Task[None]] = field(default_factory=dict)

    def failing(self, minion: str) -> bool:
        """Whether the last visit of a machine came to nothing."""
        return minion in self._failing

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        try:
            while True:
                for place, minion in enumerate(sorted(self.visits.known)):
                    if place % _LOOKED_AT_ONCE == _LOOKED_AT_ONCE - 1:
                        await asyncio.sleep(0)
                    self._look(minion)
                await asyncio.sleep(LOOK_SECONDS)
        finally:
            for task in self._going.values():
                task.cancel()

    def _look(self, minion: str) -> None:
        failing = self._failing.get(minion)
        if minion in self._going or (failing is not None and self.clock() < failing.until):
            return
        if len(self._going) >= self.visits.limits.visits or self.visits.sessions.session(minion) is not None:
            return
        wanted = self.business(minion)
        if wanted.now or wanted.drift:
            task = self._going[minion] = asyncio.create_task(self._visit(minion, wanted))
            task.add_done_callback(lambda _: self._going.pop(minion, None))

    async def _visit(self, minion: str, wanted: Business) -> None:
        question = SshQuestion(target=TargetExpression(kind="list", expression=minion))
        stream = self.visits.visit(question, drift=wanted.drift)
        try:
            said = await anext(stream)
            if said.state == "failed":
                self._failed(minion, said.error)
                return
            self._failing.pop(minion, None)
            async with asyncio.timeout(VISIT_SECONDS):
                while self.business(minion).now and self.visits.sessions.session(minion) is not None:
                    await asyncio.sleep(LOOK_SECONDS)
        except (ServiceError, TimeoutError) as error:
            self._failed(minion, str(error))
        finally:
            with contextlib.suppress(RuntimeError):
                await stream.aclose()  # type: ignore[attr-defined]  # a generator

    def _failed(self, minion: str, why: str) -> None:
        before = self._failing.get(minion)
        count = before.count + 1 if before else 1
        wait = min(RETRY_MOST, RETRY_FIRST * 2 ** (count - 1))
        self._failing[minion] = _Failing(count=count, until=self.clock() + wait)
        log.warning("visit failed; retrying", minion=minion, error=why, seconds=wait)
