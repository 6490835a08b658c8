"""Revisions that were taken back: while the remotes say one of these, an earlier one is live in its place.

A push supersedes it: its revision is another one, and goes live. A commit that is in quarantine never comes back by
itself, also when a branch is forced back to it; `release` lets it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

import structlog

from controller.reconcile.live import LiveRevision
from controller.reconcile.revision_sources import commits_of
from controller.store import RevisionRecord, Store
from controller.store.errors import QuestionGivenUp
from controller.store.rollouts.quarantine import QuarantineRecord
from gitfs.source import Source, Trees
from reactors.bus import Bus

log = structlog.get_logger("saltern.rollouts")

FailedCompiles: TypeAlias = Mapping[str, frozenset[str]]
"""Label of a revision -> minions for which it did not compile."""

_MOST_REVISIONS = 1000
_MOST_PASSED = 20
"""Revisions before the live one among which one that compiles is looked for."""


class CannotRollBack(Exception):
    """There is nothing to go back to, or it is not known; the text says which."""


@dataclass(frozen=True, slots=True)
class GoingBack:
    """From where and to where."""

    live: RevisionRecord
    target: RevisionRecord
    after: tuple[RevisionRecord, ...]
    """All that came after the target."""
    passed: tuple[str, ...] = ()
    """Labels of revisions between them that would have left minions on what is taken back: they did not compile."""
    broken: tuple[str, ...] = ()
    """Minions for which the target did not compile: they keep what they have."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What a rollback did."""

    record: QuarantineRecord
    passed: tuple[str, ...]
    broken: tuple[str, ...]


@dataclass(slots=True, kw_only=True)
class Quarantine:
    """The revisions that do not go live."""

    store: Store
    source: Source
    live: LiveRevision
    bus: Bus
    clock: Callable[[], float]
    go_live: Callable[[], Awaitable[None]]
    """Takes what the remotes have; set when there are sources."""
    _records: dict[str, QuarantineRecord] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._records = {each.digest: each for each in self.store.quarantine.all()}

    @property
    def records(self) -> tuple[QuarantineRecord, ...]:
        """The newest first."""
        return tuple(sorted(self._records.values(), key=lambda each: -each.at))

    def is_pinned(self) -> bool:
        """Whether the live revision stands in the place of one that is in quarantine."""
        return any(each.back_to == self.live.digest for each in self._records.values())

    def is_taken_back(self, revision: str) -> bool:
        """Whether a revision, by its digest, is in quarantine."""
        return revision in self._records

    def instead_of(self, trees: Trees) -> Trees:
        """The trees that are live in the place of these; may be called from a thread. GitfsError when they are gone."""
        record = self._records.get(trees.revision.digest)
        return trees if record is None else self.source.pinned(record.commits)

    async def roll_back(self, to: str, *, user: str, why: str) -> TakenBack:
        """Take the live revision back, and all that came after the one that is gone back to.

        Args:
            to: label or commit, or the beginning of one, of a revision that was live; empty: the one before this one
                that compiles for the minions for which this one does.
            user: who asks.
            why: for people.

        Raises CannotRollBack.
        """
        back = self.going_back(to, await asyncio.to_thread(self._failed, to))
        live, target, after = back.live, back.target, back.after
        commits = commits_of(target)
        records = [
            QuarantineRecord(
                digest=each.digest,
                label=each.label,
                back_to=target.digest,
                back_label=target.label,
                commits=commits,
                user=user,
                why=why,
                at=self.clock(),
            )
            for each in after
        ]
        self.store.quarantine.put(records)
        self._records |= {each.digest: each for each in records}
        taken = next(each for each in records if each.digest == live.digest)
        data = {"back_to": target.label, "user": user, "why": why, "revision": live.label}
        log.warning("revision taken back", revision=live.label, back_to=target.label, user=user, why=why)
        self.bus.publish(f"saltern/revision/{live.label}/rolled-back", data, revision=live.label)
        await self.go_live()
        return TakenBack(taken, back.passed, back.broken)

    def going_back(self, to: str, failed: FailedCompiles | None = None) -> GoingBack:
        """Which revision is gone back to. CannotRollBack.

        Args:
            to: as for `roll_back`.
            failed: minions for which revisions did not compile; None: the caller finds out.
        """
        known, live = self._known()
        before, failed = self._before(known, live, to), failed or {}
        target = before[0]
        if not to:
            now = failed.get(live.label, frozenset())
            good = (each for each in before[:_MOST_PASSED] if failed.get(each.label, frozenset()) <= now)
            target = next((each for each in good if commits_of(each)), target)
        if not commits_of(target):
            raise CannotRollBack(f"{target.label} is of local folders alone, which have no history")
        passed = () if to else tuple(each.label for each in before[: before.index(target)])
        broken = tuple(sorted(failed.get(target.label, ())))
        after = (each for each in known if each.first_seen > target.first_seen and each.digest != target.digest)
        return GoingBack(live, target, tuple(after), passed, broken)

    def _failed(self, to: str) -> FailedCompiles:
        """Minions for which the live revision, and those that may be gone back to, did not compile; for a thread."""
        known, live = self._known()
        before = self._before(known, live, to)[:_MOST_PASSED]
        try:
            return self.store.events.failed_compiles([live.label, *(each.label for each in before)])
        except QuestionGivenUp as error:  # who rolls back is in a hurry
            log.warning("it is not known which revisions did not compile; the one before is taken", error=str(error))
            return {}

    def _known(self) -> tuple[list[RevisionRecord], RevisionRecord]:
        """The revisions that were live, newest first, and the one that is; CannotRollBack."""
        known = self.store.revisions.newest_of(_MOST_REVISIONS)
        live = next((each for each in known if each.digest == self.live.digest), None)
        if live is None or self.live.trees is None:
            raise CannotRollBack("nothing is live yet")
        return known, live

    def _before(self, known: list[RevisionRecord], live: RevisionRecord, to: str) -> list[RevisionRecord]:
        """The earlier revisions that are meant, the newest first; CannotRollBack where there is none."""
        before = [each for each in known if each.first_seen < live.first_seen and each.digest not in self._records]
        found = [each for each in before if not to or each.label.startswith(to) or (to and each.commit.startswith(to))]
        if to and to in (live.label, live.commit[: len(to)]):
            raise CannotRollBack(f"{live.label} is live")
        if not found:
            raise CannotRollBack(
                f"no revision before {live.label} is called {to!r}" if to else f"nothing was live before {live.label}"
            )
        return found

    async def release(self, name: str, *, user: str) -> list[QuarantineRecord]:
        """Let revisions go live again, by label or its beginning (empty: all); those that there were."""
        found = [each for each in self.records if each.label.startswith(name)]
        self.store.quarantine.delete(each.digest for each in found)
        for each in found:
            del self._records[each.digest]
        if found:
            data = {"revisions": [each.label for each in found[:100]], "user": user}
            self.bus.publish("saltern/quarantine/released", data)
            await self.go_live()
        return found
