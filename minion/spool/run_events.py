"""Events of runs for the controller: on disk until they are acknowledged, sent again until then, in their order.

The worker of a run appends each event to the file `events` of the run's folder (`minion.worker.sent_events`). The agent
sends what is there while the run goes on, one message at a time, so that the events of a minion arrive in the order in
which they were sent. Nothing is sent from here.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from minion.spool.record_file import records
from wire.messages import MOST_RUN_EVENTS, RunEvents, RunEventsAck

MOST_EVENT_BYTES = 128 * 1024
"""Of one event, and of those in one message."""

MOST_RUN_BYTES = 2 * 1024 * 1024
"""Of the events of one run."""

MOST_STATE_EVENTS = 5000
"""Of those that tell the result of a state, for `state_events: true`."""
MOST_STATE_EVENT_BYTES = 8 * 1024 * 1024
"""Of these of one run, beside the others."""

MOST_WAITING_BYTES = 32 * 1024 * 1024
"""Of the events of all runs on disk: with more, a run that has sent none yet sends none."""

SEND_AGAIN_AFTER = 30.0
"""Seconds without an acknowledgement."""

LOOK_AGAIN = 1.0
"""Seconds between two looks at the events of a run whose worker is that of an earlier agent, and wakes nobody."""

_READ = 2 * MOST_EVENT_BYTES
"""Bytes read at once; a record is smaller."""


class SentEvent(msgspec.Struct, frozen=True, array_like=True):
    """An event in the file of its run."""

    time_ns: int
    key: str
    """Of the chunk that sent it; empty where none did."""
    of_result: bool
    """Whether it is that of `fire_event`."""
    tag: str
    data: dict[str, Any]


_RECORD = msgspec.msgpack.Decoder(SentEvent)


@dataclass(slots=True)
class _Unsent:
    """What the controller does not have of a run."""

    path: Path
    polled: bool
    controller: str = ""
    """That gets them; empty: any."""
    number: int = 0
    """Of the first event that the controller does not have."""
    offset: int = 0
    """Where it begins in the file."""

    def first(self) -> SentEvent | None:
        """The oldest."""
        return next((event for event, _ in self.read()), None)

    def read(self) -> Iterator[tuple[SentEvent, int]]:
        """Those from `offset` on that are read at once, with the offset of their end."""
        start = self.offset
        try:
            if self.path.stat().st_size <= start:
                return
            with self.path.open("rb", buffering=0) as file:
                data = os.pread(file.fileno(), _READ, start)
        except OSError:
            return
        for body, end in records(data):
            yield _RECORD.decode(body), start + end

    def seek(self, number: int) -> None:
        """The controller has so many events: go to the next one."""
        if number < self.number:
            self.number = self.offset = 0
        while self.number < number:
            before = self.number
            for _, end in list(self.read())[: number - self.number]:
                self.number, self.offset = self.number + 1, end
            if self.number == before:
                return


class RunEventsOutbox:
    """The events that are not acknowledged."""

    def __init__(self) -> None:
        self._runs: dict[str, _Unsent] = {}
        self._in_flight: dict[str, tuple[str, float]] = {}
        """Controller -> the run whose events were sent to it last, and when: one that is slow delays no other."""

    def follow(self, run_id: str, path: Path, *, polled: bool = False, controller: str = "") -> None:
        """Send the events of a run, from the file that is there or will be.

        Args:
            run_id: of the run.
            path: of the file.
            polled: nobody tells of new ones.
            controller: which of several gets them; empty: any.
        """
        if run_id not in self._runs:
            self._runs[run_id] = _Unsent(path, polled, controller)

    def controller_of(self, run_id: str) -> str:
        """Which of several controllers gets the events of a run."""
        unsent = self._runs.get(run_id)
        return "" if unsent is None else unsent.controller

    def moved(self, names: Collection[str], to: str) -> None:
        """What is for the controllers of these names is for another of their cluster."""
        for unsent in self._runs.values():
            if unsent.controller in names:
                unsent.controller = to

    def forget(self, run_id: str) -> None:
        """A run is over, or is no longer of interest."""
        self._runs.pop(run_id, None)
        self._answered(run_id)

    def waiting(self, run_id: str) -> bool:
        """Whether there are events of a run that the controller does not have."""
        unsent = self._runs.get(run_id)
        return unsent is not None and unsent.first() is not None

    def due(self, now: float, controllers: Collection[str] = (), full: Collection[str] = ()) -> RunEvents | None:
        """What to send now, if anything; tell `sent` of it. The oldest event first, whichever run sent it.

        Args:
            now: by the monotonic clock.
            controllers: of several those that can be reached; what is another's waits.
            full: those that take nothing more at the moment; empty name: who gets what is anybody's.
        """
        heads = {
            run_id: event.time_ns
            for run_id, unsent in self._runs.items()
            if self._may_send(unsent.controller, controllers, now)
            and unsent.controller not in full
            and (event := unsent.first())
        }
        if not heads:
            return None
        run_id = min(heads, key=lambda each: heads[each])
        others = min((time_ns for other, time_ns in heads.items() if other != run_id), default=None)
        return self._message(run_id, others)

    def _may_send(self, controller: str, reachable: Collection[str], now: float) -> bool:
        _, sent_at = self._in_flight.get(controller, ("", float("-inf")))
        return (not controller or controller in reachable) and now - sent_at >= SEND_AGAIN_AFTER

    def _answered(self, run_id: str) -> None:
        self._in_flight = {name: sent for name, sent in self._in_flight.items() if sent[0] != run_id}

    def sent(self, message: RunEvents, now: float) -> None:
        """The message was sent."""
        self._in_flight[self.controller_of(message.run_id)] = (message.run_id, now)

    def reconnected(self) -> None:
        """What was sent may be lost."""
        self._in_flight.clear()

    def acknowledge(self, ack: RunEventsAck) -> None:
        """The controller has so many events of a run."""
        self._answered(ack.run_id)
        if (unsent := self._runs.get(ack.run_id)) is not None:
            unsent.seek(ack.taken)

    def next_due(self, now: float, controllers: Collection[str] = ()) -> float:
        """When `due` may have something again; infinity when only a worker's word can change that."""
        runs = self._runs.values()
        if any(self._may_send(each.controller, controllers, now) and each.first() is not None for each in runs):
            return now
        again = [sent_at + SEND_AGAIN_AFTER for _, sent_at in self._in_flight.values()]
        return min([*again, *([now + LOOK_AGAIN] if any(each.polled for each in runs) else [])], default=float("inf"))

    def _message(self, run_id: str, before: int | None) -> RunEvents:
        """The next events of a run: those from before the time of another run's, as many as fit."""
        unsent = self._runs[run_id]
        events: list[tuple[str, dict[str, Any]]] = []
        for event, end in unsent.read():
            too_much = end - unsent.offset > MOST_EVENT_BYTES or len(events) >= MOST_RUN_EVENTS
            if events and (too_much or (before is not None and event.time_ns > before)):
                break
            events.append((event.tag, event.data))
        return RunEvents(run_id=run_id, first=unsent.number, end=unsent.number + len(events), events=tuple(events))


def bytes_of_runs(folder: Path) -> int:
    """Bytes that the events of all runs take on disk."""
    total = 0
    for path in folder.glob("*/events"):
        with contextlib.suppress(OSError):
            total += path.stat().st_size
    return total
