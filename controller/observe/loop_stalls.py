"""Turns of the event loop that take long: measured at its selector, and named by a thread that looks from outside.

While a turn runs, no minion, person or remote is served. The composition of the process (`controller.app`) makes the
loop with `StallSelector` and enters `StallWatch`. An idle loop is not woken for any of this.
"""

from __future__ import annotations

import asyncio
import selectors
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any

import structlog

log = structlog.get_logger("saltern.loop")

STALL_SECONDS = 0.25
"""A turn that takes longer is a stall: it is counted, and logged with what ran."""
_LOOK_SECONDS = 0.1
"""Between two looks of the thread."""
_OWN_ROOMS = ("controller", "gitfs", "highstate", "reactors", "wire", "extmods")


class StallSelector(selectors.DefaultSelector):
    """A selector that knows since when the loop has been busy.

    Args:
        stalled: called on the loop after a turn of more than `STALL_SECONDS`, with its length in seconds.
    """

    def __init__(self, stalled: Callable[[float], None] = lambda _seconds: None) -> None:
        super().__init__()
        self.stalled = stalled
        self.busy_since: float | None = None
        """When the turn that runs began, by the monotonic clock; None while the loop waits."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events; the time since the last return was one turn."""
        began, self.busy_since = self.busy_since, None
        if began is not None and (seconds := time.monotonic() - began) > STALL_SECONDS:
            self.stalled(seconds)
        try:
            return super().select(timeout)
        finally:
            self.busy_since = time.monotonic()


class StallWatch:
    """Notes what runs in a long turn, and logs it when the turn has ended.

    Args:
        loop: the loop that is watched; made on its thread.
        selector: the loop's selector.
        observe: takes the length of each stall in seconds.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, selector: StallSelector, observe: Callable[[float], None]
    ) -> None:
        self._loop = loop
        self._selector = selector
        self._observe = observe
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="loop-stalls", daemon=True)
        self._loop_thread = threading.get_ident()
        self._seen: tuple[float, str, str] | None = None
        """Begin of the last turn that was found long, with its task and the line that ran."""

    def __enter__(self) -> StallWatch:
        self._selector.stalled = self._stalled
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._selector.stalled = lambda _seconds: None

    def _stalled(self, seconds: float) -> None:
        self._observe(seconds)
        seen, self._seen = self._seen, None
        task, line = seen[1:] if seen is not None else ("", "")
        known = {name: value for name, value in (("task", task), ("at", line)) if value}
        log.warning("event loop stalled", seconds=round(seconds, 3), **known)

    def _look(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            began = self._selector.busy_since
            if began is None or time.monotonic() - began < STALL_SECONDS / 2:
                continue
            if self._seen is not None and self._seen[0] == began:
                continue
            task: asyncio.Task[Any] | None = asyncio.current_task(self._loop)
            frame = sys._current_frames().get(self._loop_thread)
            if self._selector.busy_since == began:
                self._seen = (began, task.get_name() if task is not None else "", _place_of(frame))


def _place_of(frame: FrameType | None) -> str:
    """`module:line function` of the innermost frame that is ours."""
    while frame is not None:
        module = str(frame.f_globals.get("__name__", ""))
        if module.split(".", 1)[0] in _OWN_ROOMS and module != __name__:
            return f"{module}:{frame.f_lineno} {frame.f_code.co_name}"
        frame = frame.f_back
    return ""
