"""The log of the controller's process: what it says itself by structlog, and what others log, in lines of one shape.

Called by `controller.app`, twice: before there is a store, and once it is known which texts are secret. The lines are
made by `minion.log_lines`, as those of a minion are; nothing here decides what is worth a line.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import MutableMapping
from functools import partial
from typing import Any, TextIO

import structlog
from structlog.typing import EventDict

from controller.observe.log.log_redaction import LogRedaction
from controller.observe.redactor import Redactor
from minion.log import LogShape, log_to, takes_colours, unchanged
from minion.log_lines import line_of, time_of

_OURS = ("saltern", "controller", "minion", "wire", "gitfs", "highstate", "reactors", "extmods", "matching", "options")
"""First parts of the names of our own loggers."""


def configure_log(level: str, form: str, redactor: Redactor | None = None) -> None:
    """Log to stderr what is at least of this level.

    Args:
        level: of structlog: debug, info, warning, error, critical.
        form: one of `minion.config.names.LogFormat`.
        redactor: knows secrets of minions; None: there is no store yet.
    """
    stream = sys.stderr
    shown = unchanged if redactor is None else LogRedaction(redactor)
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.format_exc_info,
            partial(_line, shown=shown, form=form, colours=takes_colours(stream)),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=partial(_NamedLogger, stream),
    )
    log_to(stream, level, shape=LogShape(form=form, shown=shown))
    for handler in logging.getLogger().handlers:
        handler.addFilter(_wanted)


class _NamedLogger(structlog.WriteLogger):
    """Writes lines, and knows what it was asked for as."""

    def __init__(self, stream: TextIO, name: str = "saltern") -> None:
        super().__init__(stream)
        self.name = name


def _line(logger: _NamedLogger, _: str, said: EventDict, *, shown: Any, form: str, colours: bool) -> str:
    fields: MutableMapping[str, Any] = {"time": time_of(time.time()), "level": said.pop("level"), "at": logger.name}
    if (traceback := said.pop("exception", None)) is not None:
        said["traceback"] = traceback
    return line_of(shown({**fields, **said}), form, colours=colours)


def _wanted(record: logging.LogRecord) -> bool:
    """Whether a record of `logging` is one of ours, or a warning of a library.

    What libraries say besides is for their own people: httpx tells the address of each request, which may be a secret.
    """
    return record.levelno >= logging.WARNING or record.name.partition(".")[0] in _OURS
