"""What minions hold for pull requests that were applied before their merge: put, released, and their files kept.

A hold is a row of the store: while it is there, the status of a minion has the held document in the place of the
desired one, so that all that is decided, sent, compared and shown is about it. Pushes are compiled meanwhile, and wait.
Called by pull requests; the end of a hold is found by `Reconciler`. Minions that were taken back to an earlier revision
have holds, too: `controller.rollouts.minion_rollbacks` puts those.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import structlog

from controller.sessions.file_server import FileServer
from controller.store import HoldRecord, RevisionRecord, Store
from gitfs.errors import GitfsError
from gitfs.source import Revision, Source
from gitfs.tree.snapshot import Snapshot
from reactors.bus import Bus
from reactors.events import Event

log = structlog.get_logger("saltern.holds")

Wake = Callable[[Iterable[str], int], None]


def pull_name(hold: HoldRecord) -> str:
    """`hub:org/states#7`."""
    return f"{hold.forge}:{hold.project}#{hold.number}"


def hold_text(hold: HoldRecord, label: str) -> str:
    """What people read of a minion that holds something; `label`: of the revision that it holds."""
    if hold.rollback:
        since = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(hold.at))
        by, why = f" by {hold.user}" if hold.user else "", f": {hold.why}" if hold.why else ""
        return f"taken back to {label}{by}, held since {since}{why}"
    until = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(hold.until))
    return f"applied from pull request {hold.number} at {hold.head[:8]}, held until {until}"


def release(store: Store, bus: Bus, holds: Iterable[HoldRecord], why: str) -> list[Event]:
    """Have minions go back to what is live; the events that say so, one a minion."""
    holds = list(holds)
    store.holds.delete(each.minion for each in holds)
    return _say_released(bus, holds, why)


def _say_released(bus: Bus, holds: Iterable[HoldRecord], why: str) -> list[Event]:
    return [
        bus.publish(f"saltern/minion/{each.minion}/released", {"id": each.minion, **_held_thing(each), "why": why})
        for each in holds
    ]


def _held_thing(hold: HoldRecord) -> dict[str, str]:
    return {"rollback": hold.rollback} if hold.rollback else {"pull": pull_name(hold), "head": hold.head}


def is_superseded(hold: HoldRecord, *, held: int, live: int) -> bool:
    """Whether what is live is none of the revisions that were taken back there: something newer, or older than what is
    held, to which the whole fleet went.

    Args:
        hold: of a rollback.
        held: position of the revision that is held, in the order in which revisions were first seen.
        live: that of the live one; 0: it is not known yet.
    """
    return live > 0 and not held < live <= hold.newest


def revision_record(holds: Sequence[HoldRecord], revision: Revision) -> RevisionRecord:
    """The revision that is held, as lists show it: `#7@1a2b3c4d`. It is never among those that were live.

    Args:
        holds: of one pull request, at least one.
        revision: of the trees of its head.
    """
    first = holds[0]
    place = next((each for each in revision.remotes.values() if each.commit == first.head), None)
    return RevisionRecord(
        digest=first.revision,
        label=f"#{first.number}@{first.head[:8]}",
        commit=first.head,
        subject=place.subject if place else "",
        author=place.author if place else "",
        committed_at=first.at,
        first_seen=first.at,
        pull=pull_name(first),
    )


@dataclass(slots=True, kw_only=True)
class PullHolds:
    """The holds of all pull requests."""

    store: Store
    bus: Bus
    files: FileServer
    source: Source
    wake: Wake

    def put(self, holds: Sequence[HoldRecord], revision: RevisionRecord) -> list[HoldRecord]:
        """Keep the holds of a pull request, at least one, in the place of those that it had.

        To be called in the transaction that records it; `began` follows it, and `released` for those that are returned:
        of minions that hold it no longer. Raises DocumentGone.
        """
        first = holds[0]
        before = self.store.holds.of_pull(first.forge, first.project, first.number)
        self.store.revisions.add(revision)
        kept = set(self.store.holds.put(holds))
        dropped = [each for each in before if each.minion not in kept]
        self.store.holds.delete(each.minion for each in dropped)
        return dropped

    def began(self, holds: Sequence[HoldRecord], files: Snapshot, cause: int) -> None:
        """Holds were kept: have the minions apply what they hold. `cause`: id of the event that says who asked."""
        self.files.hold(holds[0].revision, files)
        for each in holds:
            data = {"id": each.minion, "pull": pull_name(each), "head": each.head, "until": each.until}
            event = self.bus.publish(f"saltern/minion/{each.minion}/held", data, cause=cause)
            self.wake([each.minion], event.id)
        self._forget_files()

    def released(self, holds: Iterable[HoldRecord], why: str) -> None:
        """Holds are not kept any more: have the minions go back to what is live."""
        for event in _say_released(self.bus, holds, why):
            self.wake([event.data["id"]], event.id)
        self._forget_files()

    def release(self, holds: Iterable[HoldRecord], why: str) -> None:
        """Have these minions go back to what is live."""
        holds = list(holds)
        self.store.holds.delete(each.minion for each in holds)
        self.released(holds, why)

    def of_pull(self, forge: str, project: str, number: int) -> list[HoldRecord]:
        """What is held of a pull request."""
        return self.store.holds.of_pull(forge, project, number)

    def all(self) -> list[HoldRecord]:
        """What is held of any."""
        return [each for each in self.store.holds.all() if not each.rollback]

    def taken_back(self) -> list[HoldRecord]:
        """What minions hold that were taken back to an earlier revision: no pull request is applied to these."""
        return self.store.holds.of_rollbacks()

    async def restore(self) -> None:
        """After a start: have the files of held documents served again, and look at the minions for the end of time."""
        found = self.all()
        self.wake([each.minion for each in found], 0)
        for revision in {each.revision for each in found}:
            some = [each for each in found if each.revision == revision]
            try:
                merged = await asyncio.to_thread(self.source.merged, some[0].base, some[0].head)
            except GitfsError as error:
                log.error("held commits are gone; minions go back", pull=pull_name(some[0]), error=str(error))
                self.release(some, f"its commits are not there any more: {error}")
            else:
                self.files.hold(revision, merged.after.files)

    def _forget_files(self) -> None:
        self.files.keep_held({each.revision for each in self.store.holds.all()})
