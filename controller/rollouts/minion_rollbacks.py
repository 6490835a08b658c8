"""Minions that are taken back to an earlier revision while the others keep what is live.

They get holds (`controller.reconcile.holds`) of the documents that they have at that revision: kept first, then acted
on, so that a controller which is killed goes on with them. The first revision after those that were taken back ends a
hold as soon as it is compiled for the minion: `decision.reconcile` says so, and `sweep` has it asked before a rollout
of that revision is planned. A rollout waits for no minion that is held.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import structlog

from controller.reconcile.holds import pull_name, release
from controller.reconcile.jids import Jids
from controller.reconcile.revision_sources import commits_of
from controller.rollouts.quarantine import CannotRollBack, GoingBack, Quarantine
from controller.sessions.file_server import FileServer
from controller.store import HoldRecord, Store
from controller.store.holds import DocumentGone
from gitfs.errors import GitfsError
from gitfs.source import Source, Trees
from reactors.bus import Bus

log = structlog.get_logger("saltern.rollouts")

CompileAt: TypeAlias = Callable[[Trees, Sequence[str]], Awaitable[Mapping[str, str]]]
"""Trees that were live before, minions -> the digests of their documents, which the store has."""
_MOST_NAMED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionRollback:
    """Minions that were taken back together."""

    id: str
    taken: str
    """Label of the revision that was live."""
    back_to: str
    """Label of the one that they hold."""
    user: str
    why: str
    at: float
    minions: tuple[str, ...]
    """Those that hold it still."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinionRollbacks:
    """The minions that are held at an earlier revision."""

    store: Store
    quarantine: Quarantine
    """Knows the revisions that there were."""
    source: Source
    files: FileServer
    bus: Bus
    wake: Callable[[Iterable[str], int], None]
    look: Callable[[Iterable[str]], None]
    """Decides about minions at once."""
    ids: Jids
    clock: Callable[[], float]

    async def roll_back(
        self, minions: Sequence[str], to: str, *, compile_at: CompileAt, user: str, why: str
    ) -> MinionRollback:
        """Take these minions back to a revision, and hold them there.

        Args:
            minions: whom.
            to: as for `Quarantine.roll_back`.
            compile_at: makes the documents that they have there.
            user: who asks.
            why: for people.

        Raises:
            CannotRollBack: there is no such revision, or a minion holds a pull request.
            ServiceError: it does not compile for one of them.
        """
        back = self.quarantine.going_back(to)  # `compile_at` tells
        self._refuse_pulls(minions)
        trees = await self._trees(back)
        digests = await compile_at(trees, minions)
        if not digests:
            raise CannotRollBack("none of these minions has ever connected: they have nothing to go back from")
        if self.quarantine.live.digest != back.live.digest:
            raise CannotRollBack("another revision went live meanwhile; look again")
        self._refuse_pulls(minions)
        records = self._keep(back, digests, user=user, why=why)
        self.files.hold(back.target.digest, trees.files)
        return self.begin(records)

    def begin(self, holds: Sequence[HoldRecord]) -> MinionRollback:
        """Minions hold an earlier revision, all by one rollback: say it, and have them apply it."""
        made = self._view(holds)
        log.warning("minions taken back", minions=len(made.minions), back_to=made.back_to, user=made.user, why=made.why)
        for minion in made.minions:
            data = {"id": minion, "rollback": made.id, "taken": made.taken, "back_to": made.back_to}
            tag = f"saltern/minion/{minion}/taken-back"
            event = self.bus.publish(tag, {**data, "user": made.user, "why": made.why}, revision=made.back_to)
            self.wake([minion], event.id)
        return made

    def _refuse_pulls(self, minions: Sequence[str]) -> None:
        chosen = frozenset(minions)
        pulls = [each for each in self.store.holds.all() if each.minion in chosen and not each.rollback]
        if pulls:
            named = ", ".join(f"{each.minion} ({pull_name(each)})" for each in pulls[:_MOST_NAMED])
            raise CannotRollBack(f"pull requests are applied to some of these: {named}; `saltern unapply` first")

    async def _trees(self, back: GoingBack) -> Trees:
        try:
            trees = await asyncio.to_thread(self.source.pinned, commits_of(back.target))
        except GitfsError as error:
            raise CannotRollBack(f"{back.target.label} cannot be read any more: {error}") from error
        if trees.missing:
            raise CannotRollBack(f"of {back.target.label} nothing is there of {', '.join(trees.missing)}")
        return trees

    def _keep(self, back: GoingBack, digests: Mapping[str, str], *, user: str, why: str) -> list[HoldRecord]:
        """Store the holds. The clock says when; which revisions come after is told by their order in the store."""
        made, at, newest = self.ids.next(), self.clock(), self.store.revisions.newest_position()
        records = [
            HoldRecord(
                minion=minion,
                digest=digest,
                revision=back.target.digest,
                user=user,
                at=at,
                rollback=made,
                taken=back.live.label,
                why=why,
                newest=newest,
            )
            for minion, digest in sorted(digests.items())
        ]
        try:
            with self.store.transaction():
                self.store.revisions.add(back.target)
                kept = frozenset(self.store.holds.put(records))
        except DocumentGone:
            raise CannotRollBack("its documents were forgotten meanwhile; try again") from None
        if not kept:
            raise CannotRollBack("these minions were forgotten meanwhile")
        return [record for record in records if record.minion in kept]

    def all(self) -> list[MinionRollback]:
        """Those of which minions hold something, the newest first."""
        return self._grouped(self.store.holds.of_rollbacks())

    def _grouped(self, holds: Iterable[HoldRecord]) -> list[MinionRollback]:
        found: dict[str, list[HoldRecord]] = {}
        for each in holds:
            found.setdefault(each.rollback, []).append(each)
        return [self._view(found[name]) for name in sorted(found, reverse=True)]

    def _view(self, holds: Sequence[HoldRecord]) -> MinionRollback:
        first = holds[0]
        known = self.store.revisions.get(first.revision)
        return MinionRollback(
            id=first.rollback,
            taken=first.taken,
            back_to=known.label if known else first.revision[:8],
            user=first.user,
            why=first.why,
            at=first.at,
            minions=tuple(each.minion for each in holds),
        )

    def release(self, name: str, minions: Collection[str] | None, *, user: str) -> list[MinionRollback]:
        """Let minions have what is live again; what they held.

        Args:
            name: label of the revision that was taken back, or id of the rollback, or the beginning of one; empty: all.
            minions: of these alone; None: of all.
            user: who asks.
        """
        found = [
            each
            for each in self.store.holds.of_rollbacks()
            if (each.taken.startswith(name) or each.rollback.startswith(name))
            and (minions is None or each.minion in minions)
        ]
        told = self._grouped(found)
        for event in release(self.store, self.bus, found, f"let go by {user}" if user else "let go"):
            self.wake([event.data["id"]], event.id)
        self._forget_files()
        return told

    def sweep(self) -> None:
        """Another revision is live, and everybody is compiled against it: end the holds that it supersedes."""
        held = [each.minion for each in self.store.holds.of_rollbacks()]
        if held:
            self.look(held)
            self._forget_files()

    async def restore(self) -> None:
        """After a start: have the files of held revisions served again, and look at their minions."""
        found = self.store.holds.of_rollbacks()
        for digest in {each.revision for each in found}:
            try:
                trees = await asyncio.to_thread(self.source.pinned, commits_of(self.store.revisions.get(digest)))
            except GitfsError as error:
                # The minions stay where they are: what was taken back must not come again by itself.
                log.error("a held revision cannot be read: its files are not served", error=str(error))
            else:
                self.files.hold(digest, trees.files)
        self.wake([each.minion for each in found], 0)

    def _forget_files(self) -> None:
        self.files.keep_held({each.revision for each in self.store.holds.all()})
