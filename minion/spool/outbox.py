"""Results for the controller: on disk until they are acknowledged, sent again until then, oldest first.

The agent sends what is `due`, and says what was acknowledged. The last acknowledged results are kept, so that a run id
that comes again is answered without running again; those of previews are not: nothing stays of one. Nothing is sent
from here.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec

from minion.spool.journal import RunFolder, RunFolders, folder_name
from minion.spool.run_events import RunEventsOutbox
from minion.spool.schedule import UNREPORTED
from wire.messages import Preview, RunResult

log = logging.getLogger(__name__)

KEPT = 20
"""How many acknowledged results are kept."""

SEND_AGAIN_AFTER = 30.0
"""Seconds without an acknowledgement."""

IN_FLIGHT = 8
"""Results that are sent and not acknowledged at the same time: each may be as large as a message can be."""


class Outbox:
    """The unacknowledged results, in the order in which they were finished."""

    def __init__(self, cachedir: Path, folders: RunFolders, events: RunEventsOutbox) -> None:
        """`events`: of these runs; the result of a run comes after them."""
        self._events = events
        self._folders = folders
        self._kept = cachedir / "kept"
        self._kept.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._sent: dict[str, float | None] = {}  # run id -> when it was sent, None: not on this connection
        self._drift: str = ""
        for folder in self._finished():
            self._find(folder)

    def __len__(self) -> int:
        return len(self._sent)

    def __contains__(self, run_id: str) -> bool:
        return run_id in self._sent

    def add(self, result: RunResult) -> None:
        """Add a result that is in its run folder. A drift result replaces the one before it."""
        if result.kind == "drift":
            if self._drift and self._drift != result.run_id:
                self._drop(self._drift)
            self._drift = result.run_id
        self._sent.setdefault(result.run_id, None)

    def due(self, now: float) -> Iterator[RunResult]:
        """Results to send now, oldest first; tell `sent` of each."""
        waiting = sum(at is not None and now - at < SEND_AGAIN_AFTER for at in self._sent.values())
        for run_id, at in list(self._sent.items()):
            if waiting >= IN_FLIGHT:
                return
            if (at is None or now - at >= SEND_AGAIN_AFTER) and not self._events.waiting(run_id):
                result = self._read(run_id)
                if result is not None:
                    waiting += 1
                    yield result

    def sent(self, run_id: str, now: float) -> None:
        """The result was sent."""
        if run_id in self._sent:
            self._sent[run_id] = now

    def next_due(self, now: float) -> float:
        """When `due` has something again; infinity when there is nothing to send."""
        sent = [at + SEND_AGAIN_AFTER for at in self._sent.values() if at is not None]
        unsent = sum(at is None and not self._events.waiting(run_id) for run_id, at in self._sent.items())
        if unsent and sum(at > now for at in sent) < IN_FLIGHT:
            return now
        return min(sent, default=float("inf"))

    def reconnected(self) -> None:
        """Results that were sent may be lost: all are due."""
        self._sent = dict.fromkeys(self._sent)

    def acknowledge(self, run_id: str) -> bool:
        """The controller has it; False when nothing was waiting under this id."""
        if run_id not in self._sent:
            return False
        del self._sent[run_id]
        folder = self._folders.of(run_id)
        if not _is_preview(folder):
            (folder.path / "result").replace(self._kept / folder_name(run_id))
        folder.remove()
        self._events.forget(run_id)
        self._forget_oldest()
        if run_id == self._drift:
            self._drift = ""
        return True

    def send_again(self, run_id: str) -> bool:
        """The controller asks for a run that is finished: its result is due. False when none is known."""
        if run_id in self._sent:
            self._sent[run_id] = None
            return True
        kept = self._kept / folder_name(run_id)
        if not kept.exists():
            return False
        folder = self._folders.of(run_id)
        folder.path.mkdir(mode=0o700, exist_ok=True)
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
            self._events.follow(result.run_id, folder.events)
            if not result.run_id.startswith(UNREPORTED):
                self.add(result)
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
        self._events.forget(run_id)
        self._folders.of(run_id).remove()

    def _forget_oldest(self) -> None:
        kept = sorted(self._kept.iterdir(), key=lambda path: path.stat().st_mtime_ns)
        for path in kept[:-KEPT]:
            path.unlink(missing_ok=True)


def _is_preview(folder: RunFolder) -> bool:
    try:
        return isinstance(folder.request(), Preview)
    except (OSError, msgspec.MsgspecError):
        return False
