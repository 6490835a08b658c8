"""Takes minions back on which nobody confirmed in time what `apply: confirm` applied, and has them held there.

They go back to the document that was confirmed there last, as the store has it: nothing is compiled, so that no fault
of a tree is in the way. Asked by the reconciler, which asks again until it is done; everything is looked at afresh.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import structlog

from controller.reconcile.revision_sources import commits_of
from controller.rollouts.minion_rollbacks import MinionRollbacks
from controller.store import ConfirmationRecord, HoldRecord, StoreError
from controller.store.holds import DocumentGone
from gitfs.errors import GitfsError

log = structlog.get_logger("saltern.rollouts")

TOGETHER_SECONDS = 0.1
"""Minions that are to go back within this time are taken back together."""
WHY = "nobody confirmed it in time"
WENT_BACK = f"{WHY}: it went back by itself, as it reached no controller"


@dataclass(slots=True, kw_only=True)
class UnconfirmedMinions:
    """Those that are to go back."""

    rollbacks: MinionRollbacks
    live_label: Callable[[], str]
    on_taken_back: Callable[[int], None]
    """Counts the minions."""
    _waiting: dict[str, str] = field(default_factory=dict)
    """Minion -> digest of the document that nobody confirmed there."""
    _revisions: set[str] = field(default_factory=set)
    """Whose files are to be served."""
    _news: asyncio.Event = field(default_factory=asyncio.Event)

    def add(self, minion: str, waiting: str) -> None:
        """Have a minion taken back soon, if this document still waits there."""
        self._waiting[minion] = waiting
        self._news.set()

    def went_back(self, known: ConfirmationRecord) -> None:
        """Hold a minion at what it went back to by itself. Called in the transaction that stores that it did."""
        try:
            self._hold([known], WENT_BACK)
        except DocumentGone:
            log.error("a minion that went back by itself is not held", minion=known.minion, digest=known.digest)
            return
        self._revisions.add(known.revision)
        self._news.set()

    async def run(self) -> None:
        """Work until cancelled."""
        while True:
            await self._news.wait()
            await asyncio.sleep(TOGETHER_SECONDS)
            self._news.clear()
            asked, self._waiting = self._waiting, {}
            revisions, self._revisions = self._revisions, set()
            for revision in sorted(revisions):
                await self._serve_files(revision)
            try:
                await self._take_back(asked)
            except (StoreError, DocumentGone) as error:
                log.error("minions are not taken back; trying again", minions=len(asked), error=str(error))

    async def _take_back(self, asked: Mapping[str, str]) -> None:
        for revision in sorted({each.revision for each in self._still(asked)}):
            await self._serve_files(revision)
            self._hold([each for each in self._still(asked) if each.revision == revision])

    def _still(self, asked: Mapping[str, str]) -> list[ConfirmationRecord]:
        """Those that nobody confirmed or took back meanwhile, and on which no run has begun."""
        rows = self.rollbacks.store.minions.status(sorted(asked))
        found = [row.confirmation for row in rows if row.hold is None and row.open_run is None]
        return [each for each in found if each is not None and each.waiting == asked[each.minion]]

    async def _serve_files(self, revision: str) -> None:
        """Have the files of that revision served before its minions ask for them."""
        known = self.rollbacks.store.revisions.get(revision)
        try:
            trees = await asyncio.to_thread(self.rollbacks.source.pinned, commits_of(known))
        except GitfsError as error:
            log.error("a revision cannot be read: minions go back without its files", error=str(error))
        else:
            self.rollbacks.files.hold(revision, trees.files)

    def _hold(self, found: Sequence[ConfirmationRecord], why: str = WHY) -> None:
        if not found:
            return
        rollbacks, made = self.rollbacks, self.rollbacks.ids.next()
        newest = rollbacks.store.revisions.newest_position()
        records = [
            HoldRecord(
                minion=known.minion,
                digest=known.digest,
                revision=known.revision,
                user="",
                at=rollbacks.clock(),
                rollback=made,
                taken=self.live_label(),
                why=why,
                newest=newest,
            )
            for known in found
        ]
        with rollbacks.store.transaction():
            rollbacks.store.holds.put(records)
            rollbacks.store.confirmations.settle(record.minion for record in records)
        self.on_taken_back(len(records))
        rollbacks.begin(records)
