"""From a notice to compiled minions: fetch the remotes, take the new trees, have those compiled whom they concern.

One thing at a time, newest last: a push during a compile is compiled after it. What does not compile changes nothing
live. Called by the service's tasks; it decides nothing about minions, it wakes the loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import structlog

from controller.compilation.builder import Builder
from controller.compilation.compile_worker import CompileRequest
from controller.compilation.fetches import PATIENCE, Fetches
from controller.observe.metrics import Metrics
from controller.reconcile.policy import Policy, PolicyInvalid, read_policy
from controller.reconcile.reconciler import Reconciler
from controller.sessions.file_server import FileServer
from controller.store import MinionRecord, RevisionRecord, Store, StoreError
from gitfs.changes import Changes
from gitfs.errors import FetchFailed, GitfsError
from gitfs.mirror.mirror import Fetched
from gitfs.remote_report import left_out_counts
from gitfs.source import Revision, Source, Trees
from highstate.types import Minion
from reactors.bus import Bus

log = structlog.get_logger("saltern.revisions")

WEIGH_SECONDS = 60.0
"""Between two looks at how large the mirrors are: each file of theirs is looked at."""
RETRY_SECONDS = 5.0
"""Until a revision is tried again that could not be stored."""


@dataclass(slots=True, kw_only=True)
class SourceReconciler:
    """The live trees of a controller and what was compiled from them."""

    source: Source
    builder: Builder
    store: Store
    loop: Reconciler
    files: FileServer
    bus: Bus
    metrics: Metrics
    clock: Callable[[], float]
    language: Mapping[str, Any]
    """Fields of `highstate.Settings`."""
    ports: Mapping[str, Any] = field(default_factory=dict, repr=False)
    """See `CompileRequest.ports`."""
    check_rate: float = 0.0
    """See `CompileRequest.check_rate`."""
    trees: Trees | None = None
    error: str = ""
    """Why the newest revision is not live, when its policy cannot be read."""
    fetched_at: dict[str, float] = field(default_factory=dict)
    fetch_errors: dict[str, str] = field(default_factory=dict)
    _compiling: asyncio.Lock = field(default_factory=asyncio.Lock)
    _followed: Policy = field(default_factory=Policy)
    """The policy under which everyone was looked at."""
    _tidying: asyncio.Task[list[str]] | None = None
    _weighed: float = 0.0
    """When the mirrors were weighed, by `clock`."""
    _stale: set[str] = field(default_factory=set)
    """Minions to compile although the trees are the same."""

    @property
    def live_digest(self) -> str:
        """Digest of the live revision; empty when there is none."""
        return self.trees.revision.digest if self.trees else ""

    async def follow(self, changes: Changes) -> None:
        """Fetch whatever a notice names and make it live, until cancelled."""
        await self._take_live_or_retry()  # what an earlier run accepted serves at once, also when no remote answers
        fetches = Fetches(self.source, partial(self._heard, changes), self._note)
        try:
            async with asyncio.TaskGroup() as group:
                async for names in changes:
                    group.create_task(self._bring(names, fetches))
        finally:
            fetches.close()

    async def _bring(self, names: Collection[str], fetches: Fetches) -> None:
        """Fetch these and make live what they bring: together, but for those that did not answer the last time."""
        started = {name: fetches.start(name) for name in names}
        pending = set(started.values())
        if prompt := [fetch for name, fetch in started.items() if name not in self.fetch_errors]:
            await asyncio.wait(prompt, timeout=PATIENCE)
        while pending:
            done = {fetch for fetch in pending if fetch.done()}
            pending -= done
            for fetch in done:
                fetch.result()  # what nobody expected ends the service, as everywhere
            if done:
                await self._take_live_or_retry()
            elif pending:
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        self._tidy()

    def _heard(self, changes: Changes, outcome: Fetched | FetchFailed, seconds: float) -> None:
        ok = isinstance(outcome, Fetched)
        self.metrics.fetched(outcome.remote, seconds, ok=ok)
        (changes.fetched if ok else changes.failed)(outcome.remote)
        self._note(outcome)

    def _tidy(self) -> None:
        """Have mirrors drop what nobody needs; the next push does not wait for it."""
        if self._tidying is None or self._tidying.done():
            self._tidying = asyncio.create_task(asyncio.to_thread(self._keep_small))
            self._tidying.add_done_callback(_log_tidied)

    def _keep_small(self) -> list[str]:
        done = self.source.gc()
        if done or abs(self.clock() - self._weighed) > WEIGH_SECONDS:
            self._weighed = self.clock()
            for remote, size in self.source.disk_bytes().items():
                self.metrics.weighed(remote, size)
            for remote, count in left_out_counts(self.trees).items() if self.trees else ():
                self.metrics.left_out(remote, count)
        return done

    async def _take_live_or_retry(self) -> None:
        """`take_live`, again and again while the store cannot be written (a full disk): nothing newer is taken."""
        while True:
            try:
                await self.take_live()
                return
            except StoreError as error:
                log.error("the store cannot be written; trying again", error=str(error))
                self.trees = None  # so that the revision counts as new
                await asyncio.sleep(RETRY_SECONDS)

    def _note(self, outcome: Fetched | FetchFailed) -> None:
        """Keep what a fetch said; an error is told once, not at each try."""
        remote = outcome.remote
        if isinstance(outcome, Fetched):
            self.fetched_at[remote] = self.clock()
            self.metrics.kept_back(remote, len(outcome.refused))
            error = "; ".join(str(each) for each in outcome.refused)
        else:
            error = outcome.reason
        if error and self.fetch_errors.get(remote) != error:
            log.error("the last good revision stays", remote=remote, error=error)
            self.bus.publish(f"saltern/remote/{remote}/error", {"remote": remote, "error": error})
        if error:
            self.fetch_errors[remote] = error
        elif self.fetch_errors.pop(remote, None):
            log.info("the remote is well again", remote=remote)

    async def take_live(self) -> None:
        """Compile the fleet when the live trees are others than those compiled last, or some minions are new."""
        async with self._compiling:
            try:
                trees = await asyncio.to_thread(self.source.live)
            except GitfsError as error:
                # The next fetch repairs the mirror and brings us here again.
                log.error("the live trees cannot be read; the last good revision stays", error=str(error))
                return
            if trees.missing:
                return  # a remote has never delivered anything: half a configuration is none
            new = self.trees is None or trees.revision.digest != self.trees.revision.digest
            if new and not self._adopt(trees):
                return
            due, self._stale = self._stale, set()
            try:
                if new:
                    await self._build(trees, due)
                elif due and self.trees is not None:
                    await self.builder.compile(self.request(self.trees, self.known(due)), self.trees.revision)
            except StoreError:
                self._stale |= due
                raise
            if self.loop.policy != self._followed:
                self._followed = self.loop.policy
                self.loop.wake(record.id for record in self.store.minions.all())

    async def _build(self, trees: Trees, due: Collection[str]) -> None:
        accepted = {record.id for record in self.store.keys.all() if record.state == "accepted"}
        await self.builder.build(self.request(trees, self.known(accepted)), trees.revision, due)

    def _adopt(self, trees: Trees) -> bool:
        """Make trees live, unless their policy cannot be read."""
        revision = trees.revision
        record = _revision_record(revision, self.clock())
        try:
            policy = read_policy(trees.files)
        except PolicyInvalid as error:
            if self.error != str(error.problem):
                self._refuse(record, str(error.problem))
            return False
        self.error, self.trees, self.loop.policy = "", trees, policy
        self.files.use(trees.files)
        self.store.revisions.add(record)
        data = {"commit": record.commit, "subject": record.subject, "author": record.author}
        self.bus.publish(f"saltern/revision/{revision.id}/live", data, revision=revision.id)
        log.info("new revision", revision=revision.id, subject=record.subject)
        return True

    def _refuse(self, record: RevisionRecord, error: str) -> None:
        self.error = error
        self.store.revisions.add(replace(record, error=error))
        log.error("policy not readable; the last good revision stays", revision=record.label, error=error)
        self.bus.publish(f"saltern/revision/{record.label}/refused", {"error": error}, revision=record.label)

    def refresh(self) -> None:
        """Compile those again whose external data is as old as it may be. To be called now and then."""
        expired = self.builder.expired()
        if expired:
            self.stale(*expired)

    def stale(self, *minions: str) -> None:
        """Their grains are new, or they are back: compile them soon, with fresh facts where they stand on some."""
        known = set(minions) - self.builder.facts.ask_again(minions, always=True)
        if known:
            self.due(*known)

    def due(self, *minions: str) -> None:
        """Compile these minions soon, with what is known."""
        self._stale.update(minions)
        task = asyncio.get_running_loop().create_task(self._take_live_or_retry())
        task.add_done_callback(_log_failure)

    def request(
        self, trees: Trees, minions: Iterable[MinionRecord], more: Mapping[str, Any] | None = None
    ) -> CompileRequest:
        """What to ask of the compiler for these minions; `more` are options of the language for this request alone."""
        opts = {**self.language.get("opts", {}), **(more or {})}
        minions = tuple(minions)
        return CompileRequest(
            files=trees.files,
            pillar=trees.pillar,
            minions=tuple(Minion(id=each.id, grains=each.grains) for each in minions),
            language={**self.language, "opts": opts},
            drift=self.loop.policy.drift.schedule(),
            ports=self.ports,
            facts=self.builder.facts.recorded({each.id for each in minions}),
            askable=self.loop.policy.facts,
            check_rate=self.check_rate,
        )

    def known(self, ids: Collection[str]) -> list[MinionRecord]:
        """The minions among these that have told their grains."""
        return [record for record in self.store.minions.all() if record.id in ids and record.grains]


def _revision_record(revision: Revision, now: float) -> RevisionRecord:
    first = next(iter(revision.remotes.values()), None)
    return RevisionRecord(
        digest=revision.digest,
        label=revision.id,
        commit=first.commit if first else "",
        subject=first.subject if first else "local folders",
        author=first.author if first else "",
        committed_at=first.committed if first else now,
        first_seen=now,
    )


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and task.exception() is not None:
        log.error("compile failed", exc_info=task.exception())


def _log_tidied(task: asyncio.Task[list[str]]) -> None:
    if task.cancelled():
        return
    if task.exception() is not None:
        log.error("mirrors could not be tidied", exc_info=task.exception())
    elif task.result():
        log.info("mirrors tidied", remotes=task.result())
