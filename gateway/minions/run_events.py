"""What states of a stock minion tell while they run (`fire_event`, `state_events`), for the controller.

Their tags name a job and the minion. A minion may say such things of its own runs alone, so each goes to the controller
as an event of the run that the job is; of what the minion has begun by itself, as one of `called-MINION-JID`, whose JID
is that of the states. The return of `salt-call`, or of a job of the minion's schedule, names no job: it is known by its
states, which say when they began. What waits is in memory, and lost where the gateway ends.

Source: `event` in `salt/state.py`, `call` in `salt/cli/caller.py`.
"""

from __future__ import annotations

import logging
import re
import secrets
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from minion.spool.minion_events import MOST_EVENT_BYTES, EventNotQueued, packed_event
from minion.spool.run_events import MOST_RUN_BYTES, MOST_STATE_EVENTS, SEND_AGAIN_AFTER
from wire.messages import MOST_RUN_EVENTS, RunEvents, RunEventsAck, ToController

log = logging.getLogger(__name__)

_OF_JOB = re.compile(r"salt/(job|state_result)/([^/]{1,64})/(.+)", re.DOTALL)
_JID = re.compile(r"\d{20}")
_RUNS = 64
"""Runs of a minion of which is remembered how many events were taken."""
_MARKED = 8
"""Events of a run by whose states its return is known."""
_CHECK = "drift-"
"""How ids of runs begin that only look: what their states say is not told."""


_Mark = tuple[str, ...]
"""By which a state of one run is known among those of others."""


@dataclass(slots=True)
class _RunsEvents:
    """Of one run."""

    taken: int = 0
    """How many the controller has."""
    waiting: deque[bytes] = field(default_factory=deque)
    sent: int = 0
    """How many of those that wait are in the message that was sent."""
    told: int = 0
    """How many there were."""
    marks: list[_Mark] = field(default_factory=list)
    """Of its first states, where the minion has begun it by itself."""


class StockRunEvents:
    """Of one minion. Its runs have their turns one after the other, each of them in the order of its events.

    Args:
        minion_id: of it.
        send: says something to the controller; False: it cannot be said now.
        run_of: gives the run that a job of the minion is; None: it is none that goes on.
    """

    def __init__(
        self, minion_id: str, send: Callable[[ToController], bool], run_of: Callable[[str], str | None]
    ) -> None:
        self._id = minion_id
        self._send = send
        self._run_of = run_of
        self._runs: OrderedDict[str, _RunsEvents] = OrderedDict()
        self._no_jid = secrets.token_hex(8)
        """In place of an id, where the minion has none."""
        self._size = 0
        self._sent_at: float | None = None
        self._full = False

    def take(self, tag: str, data: Mapping[str, Any], now: float) -> bool:
        """Take what states tell; False: the tag is not of that kind, or names another minion.

        Args:
            tag: of the event.
            data: of it.
            now: by the monotonic clock.
        """
        found = _OF_JOB.fullmatch(tag)
        own = f"prog/{self._id}/" if found and found[1] == "job" else f"{self._id}/"
        if found is None or not found[3].startswith(own):
            return False
        asked, has_jid = self._run_of(found[2]), _JID.fullmatch(found[2]) is not None
        run_id = asked or f"called-{self._id}-{found[2] if has_jid else self._no_jid}"
        if not run_id.startswith(_CHECK):
            self._add(run_id, f"salt/{found[1]}/{run_id}/{found[3]}", data)
            marks, mark = self._runs[run_id].marks, _mark(data.get("ret"))
            if mark and asked is None and has_jid and len(marks) < _MARKED:
                marks.append(mark)
            self.tick(now)
        return True

    def run_of_return(self, value: object) -> str:
        """The run that the minion has begun by itself whose states have told what is returned; empty: none has."""
        states = value.values() if isinstance(value, dict) else ()
        marks = {mark for state in states if (mark := _mark(state))}
        return next((run_id for run_id, run in reversed(self._runs.items()) if marks.intersection(run.marks)), "")

    def _add(self, run_id: str, tag: str, data: Mapping[str, Any]) -> None:
        run = self._runs.setdefault(run_id, _RunsEvents())
        self._runs.move_to_end(run_id)
        try:
            body = packed_event(tag, data)
        except EventNotQueued as error:
            log.warning("event=event_dropped minion=%s tag=%s why=%s", self._id, tag[:200], error)
            return
        if self._size + len(body) > MOST_RUN_BYTES or run.told >= MOST_STATE_EVENTS:
            if not self._full:
                log.warning("event=event_dropped minion=%s tag=%s why=%s", self._id, tag[:200], "too many wait")
            self._full = True
            return
        run.waiting.append(body)
        run.told += 1
        self._size += len(body)
        self._forget()

    def _forget(self) -> None:
        for run_id in [each for each, run in self._runs.items() if not run.waiting][: max(0, len(self._runs) - _RUNS)]:
            del self._runs[run_id]

    def tick(self, now: float) -> None:
        """Say what is due: one message at a time, and again where nothing answers it."""
        if self._sent_at is not None and now - self._sent_at < SEND_AGAIN_AFTER:
            return
        for run_id, run in self._runs.items():
            if run.waiting:
                if self._send(self._message(run_id, run)):
                    self._sent_at = now
                return

    def _message(self, run_id: str, run: _RunsEvents) -> RunEvents:
        size, events = 0, list[tuple[str, dict[str, Any]]]()
        for body in run.waiting:
            size += len(body)
            if events and (size > MOST_EVENT_BYTES or len(events) >= MOST_RUN_EVENTS):
                break
            events.append(tuple(msgspec.msgpack.decode(body)))
        run.sent = len(events)
        return RunEvents(run_id=run_id, first=run.taken, end=run.taken + len(events), events=tuple(events))

    def reconnected(self, now: float) -> None:
        """What was sent may be lost."""
        self._sent_at = None
        self.tick(now)

    def acknowledge(self, ack: RunEventsAck, now: float) -> None:
        """The controller has so many of a run; more than were sent where an earlier gateway has told some.

        Args:
            ack: its answer.
            now: by the monotonic clock.
        """
        run = self._runs.get(ack.run_id)
        if run is None:
            return
        if ack.taken == run.taken + run.sent:
            for _ in range(run.sent):
                self._size -= len(run.waiting.popleft())
            self._full = False
        run.taken, run.sent = ack.taken, 0
        self.reconnected(now)


def _mark(state: object) -> _Mark:
    """What a state says of itself that no other run has; empty where it does not say when it began."""
    if not isinstance(state, dict) or not state.get("start_time"):
        return ()
    return tuple(str(state.get(name))[:200] for name in ("__run_num__", "start_time", "duration", "name"))
