"""Results for the controller: on disk until they are acknowledged, sent again until then, oldest first.

The agent sends what is `due`, and says what was acknowledged. The last acknowledged results are kept, so that a run id
that comes again is answered without running again; those of previews are not: nothing stays of one. Nothing is sent
from here.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

import msgspec

from minion.spool.journal import RunFolder, RunFolders, folder_name, own_of
from minion.spool.run_events import RunEventsOutbox
from minion.spool.schedule import UNREPORTED
from wire.messages import OwnRun, Preview, RunResult

log = logging.getLogger(__name__)

HEALED = "heal-"
"""How ids of runs begin that put drift right and that the minion began by itself."""

KEPT = 20
"""How many acknowledged results are kept."""

SEND_AGAIN_AFTER = 30.0
"""Seconds without an acknowledgement, and twice as many each time: a controller that is behind has it already, and
the same again would keep it from what else it has to read."""
LONGEST_AGAIN = 600.0
"""Of these, at most."""

MOST_AWAY = 1000
"""Results that may wait for controllers that are away while another one is there; the oldest are dropped, and said."""
MOST_AWAY_BYTES = 256 * 1024 * 1024
"""Bytes of these."""

MOST_OWN = 200
"""Results of remediations that the minion began by itself, and of the drift checks before them, that may wait while it
reaches no controller; the oldest are dropped, and said."""
MOST_OWN_BYTES = 64 * 1024 * 1024
"""Bytes of these."""

IN_FLIGHT = 8
"""Results that one controller was sent and has not acknowledged: each may be as large as a message can be."""


class Outbox:
    """The unacknowledged results, in the order in which they were finished.

    Where a minion has several controllers, a result is that one's which asked for the run: no other is told, and it
    waits until that one acknowledges it. What the minion ran by itself is told to the one that it follows.
    """

    def __init__(
        self, cachedir: Path, folders: RunFolders, events: RunEventsOutbox, known: Collection[str] = ()
    ) -> None:
        """Take over what an earlier agent left.

        Args:
            cachedir: of the minion.
            folders: of the runs.
            events: of these runs; the result of a run comes after them.
            known: names of the controllers where there are several. Results for others are dropped, and said.
        """
        self._events = events
        self._known = frozenset(known)
        self._owners: dict[str, str] = {}
        """Run id -> the controller whose it is, where it is not anybody's."""
        self._folders = folders
        self._kept = cachedir / "kept"
        self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sent: dict[str, float | None] = {}  # run id -> when it was sent, None: not on this connection
        self._waits: dict[str, float] = {}
        """Run id -> seconds from when it was sent until it is sent again."""
        self.dropped = 0
        """Results that were dropped since this began, as there was no room."""
        self._drift: str = ""
        self._answered: set[str] = set()
        """Drift checks that the minion has begun remediations for: they are told with these."""
        for own in filter(None, map(_own_run, folders)):
            self._answered.add(own.drift_run)
        for folder in self._finished():
            self._find(folder)

    def __len__(self) -> int:
        return len(self._sent)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._sent

    def add(self, result: RunResult, controller: str = "") -> None:
        """Add a result that is in its run folder. A drift result replaces the one before it.

        `controller`: of several the one that asked for it.
        """
        if controller:
            self._owners[result.run_id] = controller
        if result.kind == "drift":
            if self._drift and self._drift != result.run_id and self._drift not in self._answered:
                self._drop(self._drift)
            self._drift = result.run_id
        self._sent.setdefault(result.run_id, None)

    def last_drift(self) -> RunResult | None:
        """The newest drift check that no controller has acknowledged."""
        return self._read(self._drift) if self._drift else None

    def answered(self, drift_run: str) -> None:
        """The minion begins a remediation for this drift check: a newer check does not take its place."""
        self._answered.add(drift_run)
        own = [run_id for run_id in self._sent if is_own_remediation(run_id) or run_id in self._answered]
        self._drop_oldest(own, MOST_OWN, MOST_OWN_BYTES, "too many remediations of the minion itself wait")
        self._answered &= {drift_run, *self._sent}

    def tells_own(self) -> bool:
        """Whether a remediation that the minion began by itself waits to be acknowledged."""
        return any(map(is_own_remediation, self._sent))

    def owner(self, run_id: str) -> str:
        """The controller whose result it is; empty: anybody's."""
        return self._owners.get(run_id, "")

    def moved(self, names: Collection[str], to: str) -> None:
        """What is for the controllers of these names is for another of their cluster, and is due."""
        for run_id, owner in self._owners.items():
            if owner in names:
                self._owners[run_id] = to
                if run_id in self._sent:
                    self._sent[run_id] = None

    def waiting_for(self) -> Counter[str]:
        """How many results wait, by the controller whose they are."""
        return Counter(owner for run_id, owner in self._owners.items() if run_id in self._sent)

    def drop_too_many(self, reachable: Collection[str]) -> None:
        """Drop the oldest results for controllers that are not `reachable` when there are too many of them."""
        away = [run_id for run_id in self._sent if (owner := self._owners.get(run_id)) and owner not in reachable]
        self._drop_oldest(away, MOST_AWAY, MOST_AWAY_BYTES, "too much waits for controllers that are away")

    def _drop_oldest(self, run_ids: Sequence[str], most: int, most_bytes: int, why: str) -> None:
        """Drop results, oldest first, until no more than so many and so many bytes are left of these."""
        sizes = {run_id: self._folders.of(run_id).result_bytes() for run_id in run_ids}
        count, size = len(run_ids), sum(sizes.values())
        for run_id in run_ids:
            if count <= most and size <= most_bytes:
                return
            log.error(
                "event=result_dropped run_id=%s controller=%s reason=%s", run_id, self._owners.get(run_id, ""), why
            )
            count, size = count - 1, size - sizes[run_id]
            self.dropped += 1
            self._drop(run_id)

    def due(self, now: float, controllers: Collection[str] = (), full: Collection[str] = ()) -> Iterator[RunResult]:
        """Results to send now, oldest first; tell `sent` of each.

        Args:
            now: by the monotonic clock.
            controllers: of several those that can be reached; what is another's waits.
            full: those that take nothing more at the moment; empty name: who gets what is nobody's.
        """
        waiting = Counter(
            self.owner(run_id)
            for run_id, at in self._sent.items()
            if at is not None and now < self._again_at(run_id, at)
        )
        for run_id, at in list(self._sent.items()):
            owner = self.owner(run_id)
            if waiting[owner] >= IN_FLIGHT or owner in full or (owner and owner not in controllers):
                continue
            if (at is None or now >= self._again_at(run_id, at)) and not self._events.waiting(run_id):
                result = self._read(run_id)
                if result is not None:
                    waiting[owner] += 1
                    yield result

    def sent(self, run_id: str, now: float) -> None:
        """The result was sent."""
        if run_id in self._sent:
            self._sent[run_id] = now
            self._waits[run_id] = min(LONGEST_AGAIN, 2 * self._waits.get(run_id, SEND_AGAIN_AFTER / 2))

    def _again_at(self, run_id: str, sent_at: float) -> float:
        return sent_at + self._waits.get(run_id, SEND_AGAIN_AFTER)

    def next_due(self, now: float, controllers: Collection[str] = ()) -> float:
        """When `due` has something again; infinity when there is nothing to send."""
        owners = {owner for run_id in self._sent if not (owner := self.owner(run_id)) or owner in controllers}
        return min((self._next_due_of(owner, now) for owner in owners), default=float("inf"))

    def _next_due_of(self, owner: str, now: float) -> float:
        of_owner = {run_id: at for run_id, at in self._sent.items() if self.owner(run_id) == owner}
        sent = [self._again_at(run_id, at) for run_id, at in of_owner.items() if at is not None]
        unsent = sum(at is None and not self._events.waiting(run_id) for run_id, at in of_owner.items())
        if unsent and sum(at > now for at in sent) < IN_FLIGHT:
            return now
        return min(sent, default=float("inf"))

    def reconnected(self, controller: str = "") -> None:
        """Results that were sent may be lost: those of this controller are due, and those that are nobody's."""
        for run_id in self._sent:
            if self._owners.get(run_id, controller) == controller:
                self._sent[run_id] = None

    def acknowledge(self, run_id: str, controller: str = "") -> bool:
        """The controller has it; False when nothing was waiting under this id, or it is another controller's."""
        if run_id not in self._sent or self._owners.get(run_id, controller) != controller:
            return False
        del self._sent[run_id]
        self._waits.pop(run_id, None)
        self._owners.pop(run_id, None)
        folder = self._folders.of(run_id)
        if not _is_preview(folder):
            (folder.path / "result").replace(self._kept / folder_name(run_id))
        folder.remove()
        self._events.forget(run_id)
        self._forget_oldest()
        if run_id == self._drift:
            self._drift = ""
        return True

    def send_again(self, run_id: str, controller: str = "") -> bool:
        """The controller asks for a run that is finished: its result is due. False when none is known.

        `controller`: of several the one that asks. A result that waits for another stays that one's.
        """
        if run_id in self._sent:
            self._sent[run_id] = None
            return True
        kept = self._kept / folder_name(run_id)
        if not kept.exists():
            return False
        folder = self._folders.of(run_id)
        folder.path.mkdir(mode=0o700, exist_ok=True)
        if controller:
            folder.belongs_to(controller)
            self._owners[run_id] = controller
        kept.replace(folder.path / "result")
        self._sent[run_id] = None
        return True

    def _finished(self) -> list[RunFolder]:
        """Folders with a result, oldest first. What an acknowledgement left half removed is removed."""
        found = []
        for folder in self._folders:
            if (self._kept / folder.path.name).exists():
                folder.remove()
            elif folder.finished():
                found.append(folder)
        return sorted(found, key=lambda folder: (folder.path / "result").stat().st_mtime_ns)

    def _find(self, folder: RunFolder) -> None:
        try:
            result = folder.result()
            owner = folder.controller()
            if owner and self._known and owner not in self._known:
                log.error(
                    "event=result_dropped run_id=%s controller=%s reason=%s",
                    result.run_id,
                    owner,
                    "it is not in `master` any more",
                )
                folder.remove()
                return
            owner = owner if self._known else ""
            self._events.follow(result.run_id, folder.events, controller=owner)
            if not result.run_id.startswith(UNREPORTED):
                self.add(result, owner)
            elif not self._events.waiting(result.run_id):
                self._drop(result.run_id)
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("event=result_unreadable path=%s dropped=true error=%s", folder.path, error)
            folder.remove()

    def _read(self, run_id: str) -> RunResult | None:
        try:
            return self._folders.of(run_id).result()
        except (OSError, msgspec.MsgspecError) as error:
            log.warning("event=result_unreadable run_id=%s dropped=true error=%s", run_id, error)
            self._drop(run_id)
            return None

    def _drop(self, run_id: str) -> None:
        self._sent.pop(run_id, None)
        self._waits.pop(run_id, None)
        self._owners.pop(run_id, None)
        self._events.forget(run_id)
        self._folders.of(run_id).remove()

    def _forget_oldest(self) -> None:
        kept = sorted(self._kept.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for path in kept[:-KEPT]:
            path.unlink(missing_ok=True)


def is_own_remediation(run_id: str) -> bool:
    """Whether the minion began this run by itself while it reached no controller."""
    return run_id.startswith(HEALED)


def _own_run(folder: RunFolder) -> OwnRun | None:
    try:
        return own_of(folder.request())
    except (OSError, msgspec.MsgspecError):
        return None


def _is_preview(folder: RunFolder) -> bool:
    try:
        return isinstance(folder.request(), Preview)
    except (OSError, msgspec.MsgspecError):
        return False
