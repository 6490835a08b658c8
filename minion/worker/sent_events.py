"""The events of a run, from whatever sends them to the file from which the agent sends them on.

Made by the executor for each run and call. A run that was cut off does its unfinished states again: what these sent the
first time is known by the state that sent it, and is not sent again.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec

from highstate.run.ports import Executor, Prepared
from highstate.types import Chunk, StateResult, Value
from minion.spool.journal import RunFolder
from minion.spool.record_file import RecordFile
from minion.spool.run_events import (
    MOST_EVENT_BYTES,
    MOST_RUN_BYTES,
    MOST_STATE_EVENT_BYTES,
    MOST_STATE_EVENTS,
    MOST_WAITING_BYTES,
    SentEvent,
    bytes_of_runs,
)
from minion.worker.results import cut
from wire.errors import OverLimit
from wire.limits import MinionLimits
from wire.messages import MOST_RUN_EVENTS
from wire.values import check_value

log = logging.getLogger(__name__)

_LONGEST_TAG = 8192
_PROGRESS = "salt/job/"
"""How tags of the results of states without `fire_event` begin."""
_ENCODER = msgspec.msgpack.Encoder()
_RECORD = msgspec.msgpack.Decoder(SentEvent)
_CUTS = (32 * 1024, 4 * 1024, 512, 64)
"""Longest text in the result of a state whose event is too large, tried in this order."""


@dataclass(slots=True)
class _Sent:
    count: int = 0
    size: int = 0

    def add(self, size: int) -> None:
        self.count, self.size = self.count + 1, self.size + size


class SentEvents:
    """Takes the events of one run or call. May be used by several threads."""

    def __init__(
        self, minion_id: str, run_id: str, folder: RunFolder, wake: Callable[[], None], *, each_state: bool = False
    ) -> None:
        """`wake`: called when there is something in the file. `each_state`: whether each result is an event."""
        self._each_state = each_state
        self._minion_id, self._run_id = minion_id, run_id
        self._folder = folder
        self._wake = wake
        self._file: RecordFile | None = None
        self._sent = {True: _Sent(), False: _Sent()}
        """Of the results of states that have no `fire_event`, and of all else."""
        self._earlier: list[SentEvent] = []
        """What earlier attempts of the run sent, and this one has not."""
        self._lock = threading.Lock()
        self._state = threading.local()
        self._told = True

    @contextlib.contextmanager
    def of(self, chunk: Chunk) -> Iterator[None]:
        """What this thread sends meanwhile, this state sends."""
        self._state.key = chunk.tag
        try:
            yield
        finally:
            self._state.key = ""

    def fire(self, tag: str, data: Mapping[str, Any]) -> str:
        """Take an event. It is on disk when this returns nothing; else why it was not taken."""
        try:
            plain = _plain(data)
        except (TypeError, ValueError, OverflowError, RecursionError, OverLimit) as error:
            return f"its data cannot be sent: {error}"
        return self._add(SentEvent(time.time_ns(), getattr(self._state, "key", ""), False, tag, plain))

    def on_result(self, key: str, chunk: Chunk, result: StateResult, total: int) -> str:
        """Send the event of a state that has `fire_event`: True, or the end of its tag; why it was not sent.

        That of one without it is sent where each result is an event; `total`: states of the run. It may be lost.
        Source: `event` of salt/state.py.
        """
        wanted = chunk.arguments.get("fire_event")
        if wanted is not True and not isinstance(wanted, str):
            if self._each_state:
                tag = f"salt/job/{self._run_id}/prog/{self._minion_id}/{result.run_num}"
                data = _fitting({"ret": result.as_salt(chunk), "len": total})
                if (refusal := self._add(SentEvent(time.time_ns(), key, True, tag, data), of_run=True)) and self._told:
                    log.warning("event=state_events_not_sent run_id=%s error=%s", self._run_id, refusal)
                    self._told = False
            return ""
        end = wanted if isinstance(wanted, str) else chunk.name
        tag = f"salt/state_result/{self._run_id}/{self._minion_id}/{end}"
        refusal = self._add(SentEvent(time.time_ns(), key, True, tag, _fitting({"ret": result.as_salt(chunk)})))
        return f"the event of `fire_event` was not sent: {refusal}" if refusal else ""

    def _add(self, event: SentEvent, *, of_run: bool = False) -> str:
        body = _ENCODER.encode(event)
        with self._lock:
            try:
                file = self._open()
                if self._was_sent(event):
                    return ""
                if refusal := self._refusal(event, len(body), file.size, of_run=of_run):
                    return refusal
                file.append(body, durable=not of_run)
            except OSError as error:
                return f"it cannot be put on disk: {error}"
            self._sent[of_run].add(len(body))
        self._wake()
        return ""

    def _open(self) -> RecordFile:
        if self._file is None:
            self._file = RecordFile(self._folder.events)
            self._earlier = [_RECORD.decode(body) for body in self._file.found]
            for event, body in zip(self._earlier, self._file.found, strict=True):
                self._sent[event.tag.startswith(_PROGRESS)].add(len(body))
        return self._file

    def _was_sent(self, event: SentEvent) -> bool:
        """Whether an earlier attempt of the run sent it: the same of the same state, or the result of the state."""
        for at, earlier in enumerate(self._earlier):
            if (earlier.key, earlier.of_result) != (event.key, event.of_result) or not event.key:
                continue
            if earlier.tag.startswith(_PROGRESS) != event.tag.startswith(_PROGRESS):
                continue
            if event.of_result or (earlier.tag, earlier.data) == (event.tag, event.data):
                del self._earlier[at]
                return True
        return False

    def _refusal(self, event: SentEvent, size: int, before: int, *, of_run: bool) -> str:
        most, most_bytes = (MOST_STATE_EVENTS, MOST_STATE_EVENT_BYTES) if of_run else (MOST_RUN_EVENTS, MOST_RUN_BYTES)
        sent = self._sent[of_run]
        if len(event.tag) > _LONGEST_TAG:
            return f"its tag is longer than {_LONGEST_TAG} characters"
        if size > MOST_EVENT_BYTES:
            return f"its data takes {size} bytes, and {MOST_EVENT_BYTES} is the most"
        if sent.count >= most:
            return f"a run may send {most} events, and this one has sent as many"
        if sent.size + size > most_bytes:
            return f"the events of a run may take {most_bytes} bytes, and this one has sent as many"
        if not before and bytes_of_runs(self._folder.path.parent) > MOST_WAITING_BYTES:
            return f"{MOST_WAITING_BYTES} bytes of events wait for the controller, and that is the most"
        return ""


class AttributedStates:
    """An executor that tells `SentEvents` which state is planned and acts. Everything else is that of the engine."""

    def __init__(self, engine: Executor, events: SentEvents) -> None:
        self._engine, self._events = engine, events

    def plan(self, chunk: Chunk, arguments: Mapping[str, Value], *, watched: bool) -> Prepared | None:
        """As the engine does."""
        with self._events.of(chunk):
            return self._engine.plan(chunk, arguments, watched=watched)

    def act(self, prepared: Prepared) -> StateResult:
        """As the engine does."""
        with self._events.of(prepared.chunk):
            return self._engine.act(prepared)


def _plain(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data as messages may have it; what `msgspec` and `check_value` raise."""
    plain = msgspec.to_builtins(dict(data), enc_hook=str, builtin_types=(bytes,))
    in_a_message = (("", {str(key): value for key, value in plain.items()}),)
    checked: dict[str, Any] = check_value(in_a_message, MinionLimits())[0][1]
    return checked


def _fitting(data: Mapping[str, Any]) -> dict[str, Any]:
    """The data with its longest texts cut until it is small enough, if that helps."""
    plain = _plain(data)
    for longest in _CUTS:
        if len(_ENCODER.encode(plain)) < MOST_EVENT_BYTES - _LONGEST_TAG:
            break
        plain = cut(plain, longest)
    return plain
