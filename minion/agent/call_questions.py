"""Hands the questions of `saltern call` to the controller, and its answers back (`minion.spool.call_questions`)."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from minion.agent.file_requests import Asker
from minion.machine.durable_files import write_whole
from minion.spool.call_questions import ANSWER, ASK, FOLDER

log = logging.getLogger(__name__)

MOST_OPEN = 64
"""Questions that are looked at at once; the others wait for the next look."""
LARGEST_QUESTION = 4 * 1024 * 1024
"""Bytes."""


@dataclass(frozen=True, slots=True)
class _CallAsker:
    """Whoever wrote a question to the folder."""

    path: Path
    pid: int = 0

    def send(self, frame: bytes) -> bool:
        """Write the answer; an asker that has gone has taken its question away."""
        if not self.path.exists():
            return False
        try:
            self.path.unlink()
            write_whole(self.path.with_suffix(ANSWER), frame)
        except OSError as error:
            log.error("event=answer_not_written path=%s error=%s", self.path, error)
            return False
        return True

    def kill(self) -> None:
        """Drop a question that is none."""
        with contextlib.suppress(OSError):
            self.path.unlink()


class CallQuestions:
    """The folder, for the agent."""

    def __init__(self, cachedir: Path, ask: Callable[[Asker, bytes, float], None]) -> None:
        self._folder = cachedir / FOLDER
        self._ask = ask
        self._seen: set[Path] = set()

    def look(self, now: float) -> None:
        """Ask what is new."""
        try:
            found = sorted(self._folder.glob(f"*{ASK}"))[:MOST_OPEN]
        except OSError:
            return
        self._seen &= set(found)
        for path in found:
            if path in self._seen:
                continue
            self._seen.add(path)
            with contextlib.suppress(OSError):
                if path.stat().st_size <= LARGEST_QUESTION:
                    self._ask(_CallAsker(path), path.read_bytes(), now)
