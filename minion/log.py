"""The log of a process: one line a record, to stderr and where the settings say.

Called by the composition roots of agent, relay and controller, and by `saltern call`; workers inherit it. Our own
records are templates such as "event=run_found run_id=%s", of whose fields `log_lines` makes the line; what others log
becomes the value of `msg`. No record of the minion may hold a secret, but those that its configuration has are taken
out (`docs/logs.md`).
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from minion.log_lines import fields_of, line_of, time_of

_LEVELS: Mapping[str, int] = {"all": 1, "garbage": 1, "trace": 5, "profile": 15, "quiet": 100}
"""Salt's names that `logging` does not have."""

Fields = dict[str, object]


def unchanged(fields: Fields) -> Fields:
    """All may be shown."""
    return fields


@dataclass(frozen=True, slots=True, kw_only=True)
class LogShape:
    """How lines look.

    Args:
        form: one of `minion.config.names.LogFormat`.
        bound: fields that each line has which does not say them itself: whose log it is.
        shown: makes of the fields of a record those that may be shown.
    """

    form: str = "logfmt"
    bound: Mapping[str, str] = field(default_factory=dict)
    shown: Callable[[Fields], Fields] = unchanged


LOGFMT = LogShape()


class LineFormatter(logging.Formatter):
    """A record as one line."""

    def __init__(self, shape: LogShape = LOGFMT, *, colours: bool = False) -> None:
        super().__init__()
        self._shape, self._colours = shape, colours

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        fields: Fields = {
            "time": time_of(record.created),
            "level": record.levelname.lower(),
            "at": record.name,
            **self._shape.bound,
            **_said(record),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        if record.stack_info:
            fields["stack"] = record.stack_info
        return line_of(self._shape.shown(fields), self._shape.form, colours=self._colours)


def _said(record: logging.LogRecord) -> Fields:
    """The fields of a template of ours, or the whole message."""
    template = str(record.msg)
    if not template.startswith("event="):
        return {"msg": record.getMessage()}
    return fields_of(template, record.args if isinstance(record.args, tuple) else ())


def log_to_stderr(level: str, also: Path | None = None, its_level: str = "", shape: LogShape = LOGFMT) -> None:
    """Log to stderr what is at least of this level, and to the file `also`."""
    log_to(sys.stderr, level, also, its_level, shape)


def log_to(stream: TextIO, level: str, also: Path | None = None, its_level: str = "", shape: LogShape = LOGFMT) -> None:
    """Log what is at least of this level (Salt's names) to a stream, and to the file `also`, which may have another
    level. OSError where that cannot be written.
    """
    handlers: list[logging.Handler] = [logging.StreamHandler(stream)]
    handlers[0].setLevel(_number(level))
    handlers[0].setFormatter(LineFormatter(shape, colours=takes_colours(stream)))
    if also is not None:
        also.parent.mkdir(parents=True, exist_ok=True)
        handlers.append(logging.FileHandler(also))
        handlers[1].setLevel(_number(its_level or level))
        handlers[1].setFormatter(LineFormatter(shape))
    root = logging.getLogger()
    for old in root.handlers:
        if isinstance(old, logging.FileHandler):
            old.close()
    root.handlers[:] = handlers
    root.setLevel(min(handler.level for handler in handlers))


def takes_colours(stream: TextIO) -> bool:
    """Whether a log in the form `console` has colours there. `NO_COLOR`: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and stream.isatty() and os.environ.get("TERM") != "dumb"


def _number(level: str) -> int:
    return _LEVELS.get(level.lower()) or int(logging.getLevelName(level.upper()))
