"""Documents of three minions, as the loop of builds makes them, without a connection."""

from __future__ import annotations

import asyncio

from controller.adapters.sdb import Profiles
from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.builder import Builder
from controller.compilation.compile_pool import CompilePool
from controller.compilation.compile_requests import CompileRequests
from controller.compilation.dependencies.kept import KeptBases
from controller.compilation.fact_queries import FactQueries
from controller.compilation.mine import MineStore
from controller.compilation.runners import Runners
from controller.config.sections import SdbProfile
from controller.observe.metrics import Metrics
from controller.observe.redactor import Redactor
from controller.reconcile.live import LiveRevision
from controller.sessions.sessions import KeyRegistry, Sessions
from controller.store import Store
from gitfs.source import Revision, Trees
from highstate.compile import CompileOptions
from highstate.files import MemoryFiles
from highstate.types import Minion
from reactors.bus import Bus

MINIONS = tuple(Minion(id=name, grains={"id": name}) for name in ("web1", "web2", "db1"))
NAMES = sorted(minion.id for minion in MINIONS)
STATES = {
    "top.sls": "base:\n  'web*': [web]\n  'db*': [db]\n",
    "web.sls": "site: {test.nop: []}\n",
    "db.sls": "db: {test.nop: []}\n",
}


def revision(digest: str) -> Revision:
    return Revision(id=digest, digest=digest, remotes={})


def tree(**changed: str) -> MemoryFiles:
    return MemoryFiles({"base": {path: text.encode() for path, text in {**STATES, **changed}.items()}})


class BuildRig:
    """Documents of three accepted minions, of which none is connected."""

    def __init__(self, store: Store, language: dict, program: str | None = "one") -> None:
        self.store, self.now, self.woken = store, 1.0, []
        self.live, self.sessions = LiveRevision(), Sessions()
        self.metrics, self.bus = Metrics(self.clock), Bus(self.clock)
        self.mines = mines = MineStore(
            store=store, pillar_of=lambda minion: {}, accepted=lambda: KeyRegistry(store.keys.all()).accepted
        )
        runners = Runners(
            store=store,
            sessions=self.sessions,
            mines=mines,
            plugins=lambda: None,
            profiles=Profiles({"env": SdbProfile(driver="env", keys=("SALTERN_TEST_*",))}),
        )
        self.pool = CompilePool(fleet=runners.answer)
        self.builder = Builder(
            compiler=self.pool,
            store=store,
            bus=self.bus,
            metrics=self.metrics,
            clock=self.clock,
            reconciler=self,
            mines=mines,
            redactor=Redactor(store, "key"),
            bases=KeptBases(store=store, program=None if program is None else lambda: program),
        )
        facts = FactQueries(
            store=store,
            sessions=self.sessions,
            server=None,  # nobody is connected
            metrics=self.metrics,
            clock=self.clock,
            live=self.live,
        )
        self.requests = CompileRequests(store=store, live=self.live, language=CompileOptions(**language))
        self.builds = BuildReconciler(
            builder=self.builder,
            facts=facts,
            mines=mines,
            runners=runners,
            requests=self.requests,
            live=self.live,
            sessions=self.sessions,
            bus=self.bus,
            clock=self.clock,
            refresh_seconds=600.0,
        )

    def clock(self) -> float:
        return self.now

    def wake(self, minions, cause=0) -> None:
        self.woken += minions

    def take(self, digest: str, **changed: str) -> None:
        self.live.trees = Trees(files=tree(**changed), pillar=MemoryFiles({}), revision=revision(digest))
        self.builds.revision_changed()

    async def push(self, digest: str, **changed: str) -> list[str]:
        """Make a revision live; whom it had compiled."""
        self.woken.clear()
        self.take(digest, **changed)
        await self.builds.compiled()
        return sorted(self.woken)

    async def compiled_after(self, seconds: float) -> list[str]:
        """Whom the passing of time has compiled."""
        self.woken.clear()
        self.now += seconds
        self.builds.fleet_changed()  # the loop sleeps by the real clock
        await asyncio.sleep(0.05)
        while self.builds._compiling is not None:
            await asyncio.sleep(0.01)
        return sorted(self.woken)
