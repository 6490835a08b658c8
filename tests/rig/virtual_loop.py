"""An asyncio loop whose time passes only where everybody waits: a day takes as long as what happens in it."""

from __future__ import annotations

import asyncio
import selectors


class _NoWaiting(selectors.SelectSelector):
    """Has nothing to wait for but time, which it lets pass at once."""

    def __init__(self) -> None:
        super().__init__()
        self.passed = 0.0

    def select(self, timeout=None):
        if timeout is None:
            raise AssertionError("everybody waits for an event that nobody can bring")
        self.passed += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """`asyncio.to_thread` is done on the spot, so that each run is the same."""

    def __init__(self) -> None:
        self._selector_of_time = _NoWaiting()
        super().__init__(self._selector_of_time)

    def time(self) -> float:
        """Seconds since it was made."""
        return self._selector_of_time.passed

    def run_in_executor(self, executor, func, *args):
        """Call it here and now."""
        done = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:
            done.set_exception(error)
        return done

    def go_on(self) -> None:
        """Do what is due now; a call to stop that a turn left behind when an exception ended it is taken here."""
        self.call_soon(self.stop)
        self.run_forever()

    def pass_time(self, seconds: float) -> None:
        """Let all happen that is due within these seconds."""
        self.run_until_complete(asyncio.sleep(seconds))
