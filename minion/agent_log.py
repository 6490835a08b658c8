"""The agent's log: one line a record, `key=value`, to stderr and where the settings say.

Called by the agent's composition root; workers inherit it. Secrets are the business of whoever logs: none does.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Mapping
from pathlib import Path

_LEVELS: Mapping[str, int] = {"all": 1, "garbage": 1, "trace": 5, "quiet": 100}
"""Salt's names that `logging` does not have."""


class _OneLine(logging.Formatter):
    """One line a record, whatever is in it: an exception's lines are joined too."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\n", "\\n").replace("\r", "\\r")


def log_to_stderr(level: str, also: Path | None = None) -> None:
    """Log what is at least of this level (Salt's names) to stderr, and to the file `also`."""
    handlers: list[logging.Handler] = [logging.StreamHandler(sys.stderr)]
    if also is not None:
        also.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(also))
    for handler in handlers:
        handler.setFormatter(_OneLine("time=%(asctime)s level=%(levelname)s at=%(name)s %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = handlers
    root.setLevel(_LEVELS.get(level.lower(), logging.getLevelName(level.upper())))
