"""`salt.utils.event`: tags, and the events of the controller in a process that has them: that of an engine.

`connect` is called by such a process before a module runs.
"""

from __future__ import annotations

import fnmatch
import re
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from extmods.salt_compat.utils.small import tagify as tagify  # the name is Salt's


class EventPort(NamedTuple):
    """The events of the controller."""

    fire: Callable[[str, Mapping[str, Any]], None]
    """Publishes an event with this tag and data."""
    next_events: Callable[[float], Sequence[tuple[str, dict[str, Any]]]]
    """Those since the last call, waiting so many seconds for one; the first call begins it."""


_ports: list[EventPort] = []
_MATCHES: Mapping[str, Callable[[str, str], bool]] = {
    "startswith": str.startswith,
    "endswith": str.endswith,
    "find": lambda tag, wanted: wanted in tag,
    "fnmatch": fnmatch.fnmatchcase,
    "regex": lambda tag, wanted: re.search(wanted, tag) is not None,
}


def connect(port: EventPort) -> None:
    """Have the functions below use these events."""
    _ports[:] = [port]


class SaltEvent:
    """The events of the controller, as Salt's class gives them. Source: salt/utils/event.py."""

    def __init__(self, listen: bool = True) -> None:
        if not _ports:
            raise RuntimeError("only engines have the events of the controller; see docs/engines.md")
        self._port = _ports[0]
        self._waiting: deque[tuple[str, dict[str, Any]]] = deque()
        if listen:
            self._waiting.extend(self._port.next_events(0.0))

    def __enter__(self) -> SaltEvent:
        return self

    def __exit__(self, *_: object) -> None:
        self.destroy()

    def destroy(self) -> None:
        """Forget what was not read."""
        self._waiting.clear()

    def get_event(
        self,
        wait: float = 5,
        tag: str = "",
        full: bool = False,
        match_type: str | None = None,
        no_block: bool = False,
        auto_reconnect: bool = False,
    ) -> dict[str, Any] | None:
        """The data of the next event whose tag matches, or (`full`) `{tag, data}`; None: none came in time.

        Args:
            wait: seconds; 0: for ever.
            tag: begins the tag, unless `match_type` says otherwise.
            full: whether the tag is wanted, too.
            match_type: `startswith`, `endswith`, `find`, `fnmatch` or `regex`.
            no_block: do not wait.
            auto_reconnect: Salt's; there is nothing that breaks.
        """
        matches = _MATCHES[match_type or "startswith"]
        until = time.monotonic() + (0.0 if no_block else wait or float("inf"))
        while True:
            while self._waiting:
                found, data = self._waiting.popleft()
                if matches(found, tag):
                    return {"tag": found, "data": data} if full else data
            left = until - time.monotonic()
            self._waiting.extend(self._port.next_events(max(0.0, min(left, 60.0))))
            if left <= 0 and not self._waiting:
                return None

    def iter_events(
        self, tag: str = "", full: bool = False, match_type: str | None = None, auto_reconnect: bool = False
    ) -> Iterator[dict[str, Any]]:
        """Events whose tag matches, one after the other, for ever."""
        while True:
            found = self.get_event(0, tag, full, match_type)
            if found is not None:
                yield found

    def fire_event(self, data: Mapping[str, Any], tag: str, timeout: float = 1000) -> bool:
        """Publish an event."""
        self._port.fire(tag, data)
        return True


def get_event(node: str, sock_dir: str | None = None, listen: bool = True, **_more: Any) -> SaltEvent:
    """The events of the controller (`node` is `master`)."""
    if node != "master":
        raise ValueError(f"an engine of the controller has no events of a {node}")
    return SaltEvent(listen)


def get_master_event(
    opts: Mapping[str, Any], sock_dir: str | None = None, listen: bool = True, **_more: Any
) -> SaltEvent:
    """The events of the controller."""
    return SaltEvent(listen)
