"""From a notice to live trees: fetches the remotes, makes their trees live, and wakes the compiles.

Trees whose policy cannot be read are not taken. It decides nothing about minions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

import structlog

from controller.compilation.build_reconciler import BuildReconciler
from controller.compilation.fetches import PATIENCE, Fetches
from controller.observe.metrics import Metrics
from controller.policy.reading import PolicyInvalid, read_policy
from controller.reconcile.live import LiveRevision
from controller.reconcile.reconciler import Reconciler
from controller.reconcile.revision_sources import commits_of, moved_data, moved_text, revision_record
from controller.sessions.file_server import FileServer
from controller.store import RevisionRecord, Store, StoreError
from gitfs.changes import Changes
from gitfs.errors import FetchFailed, GitfsError
from gitfs.mirror.fetched import Fetched
from gitfs.remote_report import left_out_counts
from gitfs.source import Revision, Source, Trees
from reactors import tags
from reactors.bus import Bus

log = structlog.get_logger("saltern.revisions")

MEASURE_SECONDS = 60.0
"""Between two readings of the mirrors' sizes: each of their files is looked at."""
RETRY_SECONDS = 5.0
"""Until a revision is tried again that could not be stored."""


@dataclass(slots=True, kw_only=True)
class SourceReconciler:
    """The live trees of a controller."""

    source: Source
    live: LiveRevision
    builds: BuildReconciler
    store: Store
    reconciler: Reconciler
    files: FileServer
    bus: Bus
    metrics: Metrics
    clock: Callable[[], float]
    instead_of: Callable[[Trees], Trees]
    """Gives the trees that are live in the place of these, where their revision was taken back. Called in a thread."""
    after_compile: Callable[[Trees], Awaitable[None]]
    """To be told when all minions are compiled against trees that are live."""
    fileserver_events: bool = False
    """Whether Salt's event of a fetch that brought something is published, too."""
    error: str = ""
    """Why the newest revision is not live, when its policy cannot be read."""
    refused_remotes: frozenset[str] = frozenset()
    """The remotes that moved with that revision."""
    fetched_at: dict[str, float] = field(default_factory=dict)
    fetch_errors: dict[str, str] = field(default_factory=dict)
    _policy_changed: bool = False
    """Whether all minions are to be looked at, for another policy, once they are compiled against its revision."""
    _silent: set[str] = field(default_factory=set)
    """Remotes whose last fetch failed."""
    _taking: asyncio.Lock = field(default_factory=asyncio.Lock)
    _maintenance: asyncio.Task[list[str]] | None = None
    _notices: dict[str, int] = field(default_factory=dict)
    """Remote -> id of the event that announced its next fetch."""
    _fetch_event: int = 0
    """Id of the event of the newest fetch that brought something."""
    _told_fetch: int = 0
    """Id of the last such event that Salt's followed."""
    _measured: float = 0.0
    """When the sizes of the mirrors were read, by `clock`."""

    def noticed(self, remotes: Iterable[str], cause: int) -> None:
        """Somebody says that these remotes have news; `cause`: id of the event."""
        self._notices.update(dict.fromkeys(remotes, cause))

    async def follow(self, changes: Changes) -> None:
        """Fetch whatever a notice names and make it live, until cancelled."""
        await self._go_live_or_retry()  # what an earlier run accepted serves at once, also when no remote answers
        fetches = Fetches(self.source, partial(self._fetched, changes), self._record_fetch)
        try:
            async with asyncio.TaskGroup() as group:
                async for names in changes:
                    group.create_task(self._fetch(names, fetches))
        finally:
            fetches.close()

    async def _fetch(self, names: Collection[str], fetches: Fetches) -> None:
        """Fetch these and make live what they bring: together, but for those that did not answer the last time."""
        number = self.reconciler.lag.begin()
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
                await self._go_live_or_retry()
                self._tell_update()
                for name in (name for name, fetch in started.items() if fetch in done):
                    self._note_live(name, number)
            elif pending:
                await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        self._maintain()

    def _note_live(self, remote: str, number: int) -> None:
        """What a fetch brought is live; where it failed nobody knows what there is."""
        if remote not in self._silent:
            self.reconciler.wake(self.reconciler.lag.fetched(remote, number))

    def _tell_update(self) -> None:
        """Salt's event, once what was fetched is live."""
        if self.fileserver_events and self._fetch_event != self._told_fetch:
            self._told_fetch = self._fetch_event
            self.bus.publish(*tags.gitfs_update(), cause=self._fetch_event)

    def _fetched(self, changes: Changes, outcome: Fetched | FetchFailed, seconds: float) -> None:
        ok = isinstance(outcome, Fetched)
        self.metrics.fetched(outcome.remote, seconds, ok=ok)
        (changes.fetched if ok else changes.failed)(outcome.remote)
        (self._silent.discard if ok else self._silent.add)(outcome.remote)
        notice = self._notices.pop(outcome.remote, 0)
        if isinstance(outcome, Fetched) and outcome.changed:
            self.metrics.traces.fetched(outcome.remote, seconds, self.clock())
            data = {"remote": outcome.remote, "seconds": seconds}
            self._fetch_event = self.bus.publish(f"saltern/remote/{outcome.remote}/fetched", data, cause=notice).id
        self._record_fetch(outcome)

    def _maintain(self) -> None:
        """Have mirrors drop what nobody needs; the next push does not wait for it."""
        if self._maintenance is None or self._maintenance.done():
            self._maintenance = asyncio.create_task(asyncio.to_thread(self._collect_garbage))
            self._maintenance.add_done_callback(_log_maintenance)

    def _collect_garbage(self) -> list[str]:
        done = self.source.gc()
        if done or abs(self.clock() - self._measured) > MEASURE_SECONDS:
            self._measured = self.clock()
            for remote, size in self.source.disk_bytes().items():
                self.metrics.mirror_size(remote, size)
            if self.live.trees is not None:
                for remote, count in left_out_counts(self.live.trees).items():
                    self.metrics.left_out(remote, count)
        return done

    async def _go_live_or_retry(self) -> None:
        """`go_live`, again and again while the store cannot be written (a full disk): nothing newer is taken."""
        while True:
            try:
                await self.go_live()
                return
            except StoreError as error:
                log.error("store cannot be written; retrying", error=str(error))
                await asyncio.sleep(RETRY_SECONDS)

    def _record_fetch(self, outcome: Fetched | FetchFailed) -> None:
        """Keep what a fetch said; an error is reported once, not at each try."""
        remote = outcome.remote
        self.metrics.fetch_failing(remote, failing=isinstance(outcome, FetchFailed))
        if isinstance(outcome, Fetched):
            self.fetched_at[remote] = self.clock()
            self.metrics.kept_back(remote, len(outcome.refused))
            error = "; ".join(str(each) for each in outcome.refused)
        else:
            error = outcome.reason
        if error and self.fetch_errors.get(remote) != error:
            log.error("remote has an error; last good revision stays live", remote=remote, error=error)
            self.bus.publish(f"saltern/remote/{remote}/error", {"remote": remote, "error": error})
        if error:
            self.fetch_errors[remote] = error
        elif self.fetch_errors.pop(remote, None):
            log.info("remote recovered", remote=remote)

    async def go_live(self) -> None:
        """Make the trees live that the remotes have now, and wait until minions are compiled against them."""
        async with self._taking:
            try:
                trees = await asyncio.to_thread(lambda: self.instead_of(self.source.live()))
            except GitfsError as error:
                # The next fetch repairs the mirror and brings us here again.
                log.error("live trees cannot be read; last good revision stays live", error=error.for_operator)
                return
            if trees.missing:
                return  # a remote has never delivered anything: half a configuration is none
            if trees.revision.digest == self.live.digest:
                self._nothing_refused()  # what was refused may be gone again from its remote
            elif self._may_be_old(trees) or not self._adopt(trees):
                return
        await self.builds.compiled()
        compiled = self.live.trees
        if compiled is not None:
            await self.after_compile(compiled)
        if self._policy_changed and self.live.trees is compiled:
            self._policy_changed = False
            self.reconciler.wake(record.id for record in self.store.minions.all())

    def _may_be_old(self, trees: Trees) -> bool:
        """Whether another controller had newer trees before this one took over: the mirrors here may lag behind."""
        if not self.store.shared or self.live.trees is not None:
            return False
        if all(remote.name in self.fetched_at for remote in self.source.remotes):
            return False
        newest = self.store.revisions.newest()
        known = self.store.revisions.get(trees.revision.digest)
        return newest is not None and known is not None and known.digest != newest.digest

    def _adopt(self, trees: Trees) -> bool:
        """Make trees live, unless their policy cannot be read."""
        revision = trees.revision
        last = self.live.trees.revision if self.live.trees else self.store.revisions.newest()
        label = last.id if isinstance(last, Revision) else last.label if last else ""
        record = revision_record(revision, commits_of(last), self.clock(), label)
        moved = moved_data(record.sources)
        known = self.store.revisions.get(revision.digest)
        if known is not None:  # it was live before: people know it by the label that it had
            record = replace(record, label=known.label)
        try:
            policy = read_policy(trees.files, self.live.nodegroups)
        except PolicyInvalid as error:
            if self.error != str(error.problem):
                self.refused_remotes = frozenset([each["remote"] for each in moved] or list(revision.remotes)[:1])
                self._refuse(record, str(error.problem))
            return False
        self.store.revisions.add(record)
        trees = replace(trees, revision=replace(revision, id=record.label))
        self._nothing_refused()
        self._policy_changed |= self.live.take(trees, policy)
        self.files.use(trees.files)
        data = {
            "commit": record.commit,
            "subject": record.subject,
            "author": record.author,
            "moved": moved,
            "sources": len(record.sources),
        }
        event = self.bus.publish(
            f"saltern/revision/{record.label}/live", data, cause=self._fetch_event, revision=record.label
        )
        self.live.event = event.id
        self.metrics.traces.went_live(record, self.clock())
        self.builds.revision_changed(event.id)
        log.info("new revision", revision=record.label, revision_digest=record.digest, moved=moved_text(record))
        return True

    def _nothing_refused(self) -> None:
        self.error, self.refused_remotes = "", frozenset()
        self.metrics.policy_refused(refused=False)

    def _refuse(self, record: RevisionRecord, error: str) -> None:
        self.error = error
        self.metrics.policy_refused(refused=True)
        self.store.revisions.add(replace(record, error=error))
        log.error("policy cannot be read; last good revision stays live", revision=record.label, error=error)
        self.bus.publish(
            f"saltern/revision/{record.label}/refused", {"error": error}, cause=self._fetch_event, revision=record.label
        )


def _log_maintenance(task: asyncio.Task[list[str]]) -> None:
    if task.cancelled():
        return
    error = task.exception()
    if isinstance(error, FetchFailed):
        log.warning("mirror garbage collection failed", remote=error.remote, error=error.reason)
    elif error is not None:
        log.error("mirror maintenance failed", exc_info=error)
    elif task.result():
        log.info("mirror garbage collected", remotes=task.result())
