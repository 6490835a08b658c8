"""The execution module `log`: a line in the minion's log."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

from minion.execution.context import Context

_LEVELS = {
    "critical": logging.CRITICAL,
    "debug": logging.DEBUG,
    "error": logging.ERROR,
    "exception": logging.ERROR,
    "info": logging.INFO,
    "warning": logging.WARNING,
}


def _logger(level: str) -> Callable[[Context, str], bool]:
    def log(context: Context, message: str) -> bool:
        logging.getLogger("minion.said").log(_LEVELS[level], "%s", message)
        return True

    log.__doc__ = f"Log a message at the level {level}."
    return log


FUNCTIONS: Mapping[str, Any] = {level: _logger(level) for level in _LEVELS}
