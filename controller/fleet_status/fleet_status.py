"""Looks at all minions now and then, and when somebody asks; keeps the conditions that come out of it.

The store is read in a thread, in parts; the loop has other turns between some minions. It decides nothing about them.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache

import structlog

from controller.fleet_status.conditions import FleetFacts
from controller.fleet_status.rollup import KnownConditions, roll_up
from controller.fleet_status.standing import MinionStanding, never_connected, standing_of
from controller.fleet_status.waves import WaveMembers
from controller.observe.minion_metrics import MinionTotals
from controller.reconcile.reconciler import Reconciler
from controller.rollouts.rollouts import RolloutReconciler
from controller.schema.fleet.status import FleetStatusView, GroupScope, GroupStatus
from controller.sessions.sessions import KeyRegistry
from controller.store import StatusRow, Store, StoreError
from reactors.windows import Window, WindowState, look

log = structlog.get_logger("saltern.status")

_ROWS = 500
"""Read from the store at a time."""
_TOGETHER = 50
"""Minions that are looked at before others have their turn on the loop."""
_SHORTEST_SECONDS = 5.0
_LONGEST_SECONDS = 300.0
_SHARE = 50.0
"""Times as long as a look took it is waited until the next: 2 % of a core."""
_QUICK_SECONDS = 0.1
"""A look that takes less is made for each who asks."""
_REST = 4.0
"""Times a look's own length between two, at least: a fifth of the time while pages are open."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSources:
    """What is told of the remotes."""

    errors: Callable[[], dict[str, str]]
    """Remote -> why it could not be fetched; empty where it was. Those that were not fetched yet are not in it."""
    names: tuple[str, ...] = ()
    """Of all remotes."""
    refused: Callable[[], str] = str
    """Why the newest revision is not live."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetLook:
    """What a look saw."""

    minions: tuple[MinionStanding, ...]
    facts: FleetFacts
    at: float


def _nobody(look: FleetLook) -> None:
    """Where nobody waits for looks."""


@dataclass(slots=True, kw_only=True)
class FleetStatus:
    """Where the fleet stands.

    Args:
        grace: seconds after the start in which minions that have not connected again are waited for.
    """

    store: Store
    reconciler: Reconciler
    rollouts: RolloutReconciler
    keyring: KeyRegistry
    sources: FleetSources
    waves: WaveMembers
    clock: Callable[[], float]
    grace: float
    groups: tuple[GroupStatus, ...] = ()
    """As they were at the last look."""
    standings: tuple[MinionStanding, ...] = ()
    """Of all minions, at the last look."""
    totals: MinionTotals = field(default_factory=MinionTotals)
    """The same together."""
    looked: Callable[[FleetLook], None] = _nobody
    """Is told what each look saw, once the policies of minions are known."""
    _started: float = 0.0
    _at: float = 0.0
    _began: float = float("-inf")
    """When the last look began, and how long it took, by the clock that nobody sets."""
    _took: float = 0.0
    _looking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _wanted: asyncio.Event = field(default_factory=asyncio.Event)
    """Somebody was told of the last look."""

    def __post_init__(self) -> None:
        self._started = self.clock()

    async def view(self, by: GroupScope, *, recent: bool = False) -> FleetStatusView:
        """The groups of a kind, as they are now.

        Args:
            by: the kind.
            recent: where a look takes long, the last one will do, and another is made soon: however many pages are
                open, they choose neither how often the fleet is looked at nor wait for it.
        """
        if recent and self._took > _QUICK_SECONDS:
            self._wanted.set()
        else:
            await self.look()
        return FleetStatusView(at=self._at, groups=tuple(one for one in self.groups if one.scope == by))

    async def last(self) -> tuple[Sequence[MinionStanding], float]:
        """All minions at the last look, and when that was; the first who asks has it looked."""
        if not self._at:
            await self.look()
        return self.standings, self._at

    async def run(self) -> None:
        """Look now and then, until cancelled."""
        while True:
            pause = min(_LONGEST_SECONDS, max(_SHORTEST_SECONDS, _SHARE * self._took))
            rest = min(pause, _REST * self._took)
            await asyncio.sleep(rest)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause - rest):
                    await self._wanted.wait()
            self._wanted.clear()
            try:
                await self.look()
            except StoreError as error:
                log.error("store cannot be used; conditions are looked at later", error=str(error))

    async def look(self) -> None:
        """Look at all minions. Those who ask together share a look that begins after they did."""
        asked = time.monotonic()
        async with self._looking:
            if self._began >= asked:
                return
            self._began = time.monotonic()
            await self._look()
            self._took = time.monotonic() - self._began

    async def _look(self) -> None:
        ids = sorted(self.keyring.accepted)
        standings = await self._standings(ids)
        waves = await self.waves.of(ids, self.reconciler.live.policy.rollout)
        now = self.clock()
        facts = await self._facts()
        kept = await asyncio.to_thread(self.store.conditions.all)
        known = {(one.scope, one.name, one.type): one for one in kept}
        known_then = KnownConditions(known, self._started)
        found = await asyncio.to_thread(roll_up, standings, waves, facts, known_then, now)
        # Before something is live the policies of minions are not known, and so neither what windows say.
        if self.reconciler.live.trees is not None and {*found.conditions} != {*kept}:
            await asyncio.to_thread(self.store.conditions.replace, found.conditions)
        self.groups, self.standings, self.totals = found.groups, tuple(standings), found.totals
        self._at = now
        if self.reconciler.live.trees is not None:
            self.looked(FleetLook(minions=self.standings, facts=facts, at=now))

    async def _standings(self, ids: Sequence[str]) -> list[MinionStanding]:
        now = self.clock()
        window = cache(lambda windows: look(windows, now))
        found = []
        for start in range(0, len(ids), _ROWS):
            part = ids[start : start + _ROWS]
            rows = await asyncio.to_thread(self.store.minions.status, part)
            for first in range(0, len(rows), _TOGETHER):
                found += [self._standing(row, window) for row in rows[first : first + _TOGETHER]]
                await asyncio.sleep(0)
            known = {row.minion.id for row in rows}
            found += [never_connected(minion) for minion in part if minion not in known]
        return found

    def _standing(self, row: StatusRow, window: Callable[[tuple[Window, ...]], WindowState]) -> MinionStanding:
        policy = self.reconciler.policy_of(row)
        view = self.reconciler.observed_under(row, policy)
        waits = self.reconciler.rollouts.waits(row) if view.gated else ""
        awaited = not view.connected and self.clock() < self._started + self.grace
        return standing_of(row, view, policy, window(policy.windows), waits, awaited=awaited)

    async def _facts(self) -> FleetFacts:
        newest = await asyncio.to_thread(self.rollouts.newest, 1)
        errors = self.sources.errors()
        return FleetFacts(
            remotes=errors,
            fetched=all(name in errors for name in self.sources.names),
            refused=self.sources.refused(),
            rollout=newest[0] if newest else None,
        )
