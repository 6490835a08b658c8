"""The events of a controller, with Salt's tags and data: `get_event`, as scripts read and send them.

Reading begins when the object is made, in a thread, so that nothing is missed between two calls; what is not read waits
in a bounded queue, and of more the oldest are dropped and counted.
"""

from __future__ import annotations

import fnmatch
import math
import re
import time
from collections.abc import Callable, Iterator, Mapping
from types import TracebackType
from typing import Any

from controller.schema.events import DROPPED, EventView
from controller.schema.requests import RunnerQuestion
from controller.schema.runners import RunnerReturn
from extmods.salt_compat.exceptions import SaltClientError
from saltern.client.connection import Connection
from saltern.client.stream_reader import StreamReader

MOST_WAITING = 10_000
"""Events that wait for `get_event`; of more the oldest are dropped."""
_RECONNECT_SECONDS = 1.0
"""Between tries to reach a controller that was restarted."""
_LONGEST_WAIT = 3600.0
"""Seconds of one wait inside a wait without an end: those of Python's queues have a longest."""

_MATCHES: Mapping[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "find": lambda tag, wanted: wanted in tag,
    "fnmatch": fnmatch.fnmatchcase,
    "regex": lambda tag, wanted: re.match(wanted, tag) is not None,
}


def get_event(
    node: str = "master",
    sock_dir: str | None = None,
    transport: str | None = None,
    opts: Mapping[str, Any] | None = None,
    listen: bool = True,
    **ignored: Any,
) -> ControllerEvents:
    """The events of the controller on this machine.

    Args:
        node: `master`; there is no bus of a minion, whose events are the controller's.
        sock_dir: Salt's; the socket is that of `opts`.
        transport: Salt's; not used.
        opts: as `client_config` gives them; those of the default folder when None.
        listen: whether reading begins now; else at the first `get_event`.
        ignored: Salt's other arguments (`io_loop`, `keep_loop`, `raise_errors`), which mean nothing here.

    Raises:
        ValueError: another node is named.
        SaltClientError: no controller answers.

    Source: salt.utils.event.get_event.
    """
    if node != "master":
        raise ValueError(f"there are events of the controller ('master'), and none of a {node}")
    return ControllerEvents(opts, listen=listen)


class ControllerEvents:
    """A reader and sender of the controller's events. A context manager; `destroy` ends the reading.

    Args:
        opts: as `client_config` gives them.
        listen: whether reading begins now.

    Source: salt.utils.event.SaltEvent.
    """

    def __init__(self, opts: Mapping[str, Any] | None = None, *, listen: bool = True) -> None:
        self._connection = Connection(opts)
        self._reader: StreamReader | None = None
        self._dropped = 0
        if listen:
            self._reading()

    def __enter__(self) -> ControllerEvents:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.destroy()

    def destroy(self) -> None:
        """End the reading and forget what was not read. `get_event` begins anew."""
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.end()

    @property
    def dropped(self) -> int:
        """Events that came faster than they were read, and are lost."""
        return self._dropped + (0 if self._reader is None else self._reader.dropped)

    def get_event(
        self,
        wait: float | None = 5,
        tag: str = "",
        full: bool = False,
        match_type: str | None = None,
        no_block: bool = False,
        auto_reconnect: bool = False,
    ) -> dict[str, Any] | None:
        """The data of the next event whose tag matches, or (`full`) `{"tag", "data"}`; None: none came in time.

        Events that do not match are passed over and gone.

        Args:
            wait: seconds; 0 or None: for ever.
            tag: begins the tag, unless `match_type` says otherwise; empty: any.
            full: whether the tag is wanted, too.
            match_type: `startswith`, `endswith`, `find`, `fnmatch` or `regex` (from the tag's beginning).
            no_block: do not wait.
            auto_reconnect: begin anew where the controller was restarted, in place of an error.

        Raises:
            SaltClientError: the controller stopped answering.
        """
        matches = _MATCHES[match_type or "startswith"]
        until = time.monotonic() + (0.0 if no_block else wait or math.inf)
        while True:
            left = max(0.0, until - time.monotonic())
            event = self._next(min(left, _LONGEST_WAIT), auto_reconnect)
            if event is None and left == 0.0:
                return None
            if event is not None and event.tag == DROPPED:
                self._dropped += int(event.data["count"])
            elif event is not None and matches(event.tag, tag):
                data = _data(event)
                return {"tag": event.tag, "data": data} if full else data

    def _next(self, wait: float, auto_reconnect: bool) -> EventView | None:
        try:
            event: EventView | None = self._reading().next(wait)
        except SaltClientError:
            self.destroy()
            if not auto_reconnect:
                raise
            time.sleep(min(wait, _RECONNECT_SECONDS))
            return None
        return event

    def get_event_noblock(self) -> dict[str, Any] | None:
        """The next event as `{tag, data}`, or None when none waits."""
        return self.get_event(full=True, no_block=True)

    def get_event_block(self) -> dict[str, Any] | None:
        """The next event as `{tag, data}`, however long that takes."""
        return self.get_event(wait=0, full=True)

    def iter_events(
        self, tag: str = "", full: bool = False, match_type: str | None = None, auto_reconnect: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Events whose tag matches, one after the other, for ever; arguments as for `get_event`."""
        while True:
            found = self.get_event(0, tag, full, match_type, auto_reconnect=auto_reconnect)
            if found is not None:
                yield found

    def fire_event(self, data: Mapping[str, Any], tag: str, timeout: float = 1000) -> bool:
        """Publish an event; True when the controller has it.

        Args:
            data: what it says.
            tag: its tag.
            timeout: Salt's milliseconds; the controller answers as fast as it can.

        Raises:
            SaltClientError: the controller refuses it, or does not answer.
        """
        question = RunnerQuestion(fun="event.send", args=(tag,), kwargs={"data": dict(data)})
        for item in self._connection.stream("/runner", question):
            if isinstance(item, RunnerReturn):
                if not item.success:
                    raise SaltClientError(str(item.value))
                return bool(item.value)
        return False

    fire_master = fire_event

    def subscribe(self, tag: str | None = None, match_type: str | None = None) -> None:
        """Begin to read, where that has not begun. All events are read; `get_event` chooses."""
        self._reading()

    def unsubscribe(self, tag: str | None = None, match_type: str | None = None) -> None:
        """Salt's counterpart of `subscribe`; there is nothing to end."""

    def _reading(self) -> StreamReader:
        if self._reader is None:
            self._reader = StreamReader(self._connection, "/events", MOST_WAITING, lossy=True, tag="*")
        return self._reader


def _data(event: EventView) -> dict[str, Any]:
    """What an event says, with Salt's time in it."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(event.time)) + f".{int(event.time % 1 * 1e6):06}"
    return {"_stamp": stamp, **event.data}
