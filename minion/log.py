"""The agent's log: one line a record, `key=value`, to stderr and where the settings say.

Called by the agent's composition root and by `saltern call`; workers inherit it. Secrets are the business of whoever
logs: none does.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TextIO

_LEVELS: Mapping[str, int] = {"all": 1, "garbage": 1, "trace": 5, "profile": 15, "quiet": 100}
"""Salt's names that `logging` does not have."""


class _OneLine(logging.Formatter):
    """One line a record, whatever is in it: an exception's lines are joined too."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\\n").replace("\r", "\\r")


def log_to_stderr(level: str, also: Path | None = None, its_level: str = "") -> None:
    """Log to stderr what is at least of this level, and to the file `also`."""
    log_to(sys.stderr, level, also, its_level)


def log_to(stream: TextIO, level: str, also: Path | None = None, its_level: str = "") -> None:
    """Log what is at least of this level (Salt's names) to a stream, and to the file `also`, which may have another
    level. OSError where that cannot be written.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(stream)]
    handlers[0].setLevel(_number(level))
    if also is not None:
        also.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(also))
        handlers[1].setLevel(_number(its_level or level))
    for handler in handlers:
        handler.setFormatter(_OneLine("time=%(asctime)s level=%(levelname)s at=%(name)s %(message)s"))
    root = logging.getLogger()
    for old in root.handlers:
        if isinstance(old, logging.FileHandler):
            old.close()
    root.handlers[:] = handlers
    root.setLevel(min(handler.level for handler in handlers))


def _number(level: str) -> int:
    return _LEVELS.get(level.lower()) or int(logging.getLevelName(level.upper()))
