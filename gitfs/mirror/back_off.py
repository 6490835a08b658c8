"""When something that failed is retried: with growing delays, shared by all processes and kept over restarts.

Called by `gitfs.mirror.submodules`, with a file beside the mirror of each.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

QUICK_SECONDS = 1.0
"""A failure that took no longer costs nobody anything, and is tried again whenever somebody asks."""
FIRST_PAUSE = 30.0
LONGEST_PAUSE = 1800.0
"""Seconds until the next try: doubled after each failure, up to the longest."""


def pause_after(failures: int) -> float:
    """Seconds without a try after this many failures in a row."""
    return float(min(FIRST_PAUSE * 2 ** min(failures - 1, 30), LONGEST_PAUSE))


class BackOff:
    """The failures in a row of one thing.

    Args:
        file: where they are kept.
        clock: seconds since the epoch.
    """

    def __init__(self, file: Path, clock: Callable[[], float] = time.time) -> None:
        self._file = file
        self._clock = clock

    def failure(self) -> str | None:
        """Why it is not to be tried now; None when it may be."""
        count, when, reason = self._read()
        left = when + pause_after(count) - self._clock()
        if not count or not 0 < left <= LONGEST_PAUSE:  # a clock that was set back holds nothing up
            return None
        return f"{reason}; it failed {count} times, and is tried again in {left:.0f} s"

    def failed(self, reason: str, seconds: float) -> None:
        """It was tried and failed after so many seconds."""
        if seconds > QUICK_SECONDS:
            count = self._read()[0] + 1
            with suppress(OSError):
                self._file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                self._file.write_text(json.dumps([count, self._clock(), reason]), encoding="utf-8")

    def succeeded(self) -> None:
        """It was tried and did not fail."""
        self._file.unlink(missing_ok=True)

    def _read(self) -> tuple[int, float, str]:
        """(failures in a row, when the last one was, its reason)."""
        try:
            count, when, reason = json.loads(self._file.read_text(encoding="utf-8"))
            return int(count), float(when), str(reason)
        except (OSError, ValueError, TypeError):
            return 0, 0.0, ""
