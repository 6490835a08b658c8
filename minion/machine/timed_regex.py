"""Regular expressions of states and calls: Python's, and one that takes too long fails with its text.

Called by states, execution functions and grains wherever a person or a tree wrote the pattern; never by the agent. The
engine of `re` looks for signals while it searches, so that a timer of the processor time that this process uses ends a
search. Signals reach the main thread alone: a state of `parallel: True` runs in another, where a pattern that may take
many trials runs on an engine with a time limit of its own (`matching.bounded_regex`).
"""

from __future__ import annotations

import re
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, AnyStr, Generic, TypeVar

from matching import bounded_regex
from matching.linear_regex import PatternRefused, shortened
from minion.machine.failure import StateFailed

SECONDS = 10.0
"""Seconds of processor time that the searches with one pattern may take together, of which each text brings more."""
SECONDS_A_CHARACTER = 1e-6
_AT_ONCE = 100_000
"""Steps of a search that are run without a timer: some milliseconds at most."""

_T = TypeVar("_T")


class TimedRegex(Generic[AnyStr]):
    """A regular expression. Its methods are those of `re.Pattern`; StateFailed when one takes too long."""

    def __init__(self, pattern: AnyStr, flags: int = 0) -> None:
        """Raises re.error or ValueError, as re.compile, for what is no pattern."""
        self.pattern: AnyStr = pattern
        self._flags = flags
        self._own: re.Pattern[AnyStr] = re.compile(pattern, flags)
        self._left = SECONDS

    def search(self, text: AnyStr) -> re.Match[AnyStr] | None:
        """The first match."""
        found: re.Match[AnyStr] | None = self._run(text, lambda engine, limit: engine.search(text, **limit))
        return found

    def match(self, text: AnyStr) -> re.Match[AnyStr] | None:
        """A match at the beginning."""
        found: re.Match[AnyStr] | None = self._run(text, lambda engine, limit: engine.match(text, **limit))
        return found

    def fullmatch(self, text: AnyStr) -> re.Match[AnyStr] | None:
        """A match that is the whole text."""
        found: re.Match[AnyStr] | None = self._run(text, lambda engine, limit: engine.fullmatch(text, **limit))
        return found

    def subn(self, by: AnyStr, text: AnyStr, count: int = 0) -> tuple[AnyStr, int]:
        """The text with matches exchanged, and how many there were; re.error or IndexError as re.subn for `by`."""
        changed: tuple[AnyStr, int] = self._run(text, lambda engine, limit: engine.subn(by, text, count, **limit))
        return changed

    def _run(self, text: AnyStr, work: bounded_regex.Work) -> Any:
        try:
            if bounded_regex.worst_steps(self.pattern, len(text), self._flags) <= _AT_ONCE:
                return work(self._own, {})
            if threading.current_thread() is not threading.main_thread():
                return bounded_regex.run(self.pattern, self._flags, len(text), work, endable=False)
        except PatternRefused as error:
            raise StateFailed(str(error)) from None
        self._left += len(text) * SECONDS_A_CHARACTER
        try:
            ended, self._left = _within(self._left, lambda: work(self._own, {}))
        except _Expired:
            shown = shortened(
                self.pattern if isinstance(self.pattern, str) else self.pattern.decode("utf-8", "replace")
            )
            raise StateFailed(
                f"{shown} took more than {self._left:.3g} s of processor time, last for {len(text)} characters: "
                "parts of it match the same text in many ways; write it so that one part alone can match a character"
            ) from None
        return ended


class _Expired(BaseException):
    """The time is over. Nothing on the way up catches it as an error."""


def _within(seconds: float, work: Callable[[], _T]) -> tuple[_T, float]:
    """What the work returns, and the seconds that it left; _Expired when it needed more."""
    before = signal.signal(signal.SIGVTALRM, _expire)
    try:
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, max(seconds, 1e-3))
            done = work()
        finally:
            left = signal.setitimer(signal.ITIMER_VIRTUAL, 0)[0]
        return done, left
    finally:
        signal.signal(signal.SIGVTALRM, before)


def _expire(number: int, frame: FrameType | None) -> None:
    raise _Expired
