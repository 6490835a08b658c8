"""Turns of the event loop that take long: measured at its selector, and named by a thread that looks from outside.

While a turn runs, no minion, person or remote is served. The composition of the process (`controller.app`) makes the
loop with `StallSelector` and enters `StallWatch`. An idle loop is not woken for any of this. Beside the length of a
turn stands the processor time that the loop's own thread used in it, which says little of what else the machine does.
"""

from __future__ import annotations

import asyncio
import functools
import selectors
import sys
import threading
import time
from collections.abc import Callable
from types import FrameType, TracebackType
from typing import Any, TypeAlias

import structlog

log = structlog.get_logger("saltern.loop")

TakeStall: TypeAlias = Callable[[float, float], None]
"""Takes the length of a turn and the processor time of the loop's thread in it, in seconds."""

STALL_SECONDS = 0.25
"""A turn that takes longer is a stall: it is counted, and logged with what ran."""
_LOOK_SECONDS = 0.1
"""Between two looks of the thread."""
_OWN_ROOMS = ("controller", "gitfs", "highstate", "reactors", "wire", "extmods")


class StallSelector(selectors.DefaultSelector):
    """A selector that knows since when the loop has been busy.

    Args:
        stalled: called on the loop after a turn of more than `STALL_SECONDS`, with its length and the processor time
            of the loop's thread, both in seconds.
    """

    def __init__(self, stalled: TakeStall = lambda _seconds, _computed: None) -> None:
        super().__init__()
        self.stalled = stalled
        self.busy_since: float | None = None
        """When the turn that runs began, by the monotonic clock; None while the loop waits."""
        self._computed_before = 0.0
        """Processor time of the thread at that moment."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """Wait for events; the time since the last return was one turn."""
        began, self.busy_since = self.busy_since, None
        if began is not None and (seconds := time.monotonic() - began) > STALL_SECONDS:
            self.stalled(seconds, time.thread_time() - self._computed_before)
        try:
            return super().select(timeout)
        finally:
            self.begin_turn()

    def begin_turn(self) -> None:
        """A turn begins now."""
        self._computed_before = time.thread_time()
        self.busy_since = time.monotonic()


class StallWatch:
    """Notes what runs in a long turn, and logs it when the turn has ended.

    Args:
        loop: the loop that is watched; made on its thread.
        selector: the loop's selector.
        observe: takes the length of each stall, and the processor time that the loop used in it, in seconds.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, selector: StallSelector, observe: TakeStall) -> None:
        self._loop = loop
        self._selector = selector
        self._observe = observe
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._look, name="loop-stalls", daemon=True)
        self._loop_thread = threading.get_ident()
        self._seen: tuple[float, dict[str, str]] | None = None
        """Begin of the last turn that was found long, with what ran: task or callback, and the line."""

    def __enter__(self) -> StallWatch:
        self._selector.stalled = self._stalled
        self._selector.begin_turn()  # nobody is served yet by what was done so far
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop.set()
        self._thread.join()
        self._selector.stalled = lambda _seconds, _computed: None

    def _stalled(self, seconds: float, computed: float) -> None:
        self._observe(seconds, computed)
        seen, self._seen = self._seen, None
        known = {name: value for name, value in seen[1].items() if value} if seen is not None else {}
        log.warning("event loop stalled", seconds=round(seconds, 3), computed=round(computed, 3), **known)

    def _look(self) -> None:
        while not self._stop.wait(_LOOK_SECONDS):
            began = self._selector.busy_since
            if began is None or time.monotonic() - began < STALL_SECONDS / 2:
                continue
            if self._seen is not None and self._seen[0] == began:
                continue
            task: asyncio.Task[Any] | None = asyncio.current_task(self._loop)
            frame = sys._current_frames().get(self._loop_thread)
            runs = {"task": task.get_name()} if task is not None else {"callback": _callback_of(frame)}
            runs["at"] = _place_of(frame)
            if self._selector.busy_since == began:
                self._seen = (began, runs)


def _place_of(frame: FrameType | None) -> str:
    """`module:line function` of the innermost frame that is ours; of the innermost of all where none is."""
    innermost, one = frame, frame
    while one is not None:
        module = str(one.f_globals.get("__name__", ""))
        if module.split(".", 1)[0] in _OWN_ROOMS and module != __name__:
            return _shown(one)
        one = one.f_back
    return "" if innermost is None else _shown(innermost)


def _shown(frame: FrameType) -> str:
    return f"{frame.f_globals.get('__name__', '')}:{frame.f_lineno} {frame.f_code.co_name}"


def _callback_of(frame: FrameType | None) -> str:
    """`module.name` of the callback that the loop runs; empty where it runs none."""
    while frame is not None:
        handle = frame.f_locals.get("self") if frame.f_code is asyncio.Handle._run.__code__ else None
        if isinstance(handle, asyncio.Handle):
            return _name_of(getattr(handle, "_callback", None))
        frame = frame.f_back
    return ""


def _name_of(callback: Any) -> str:
    while isinstance(callback, functools.partial):
        callback = callback.func
    name = getattr(callback, "__qualname__", None) or type(callback).__qualname__
    return f"{getattr(callback, '__module__', None) or type(callback).__module__}.{name}"
