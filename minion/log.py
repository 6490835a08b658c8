"""The log of the minion's processes in logfmt: one line a record, `key=value`, to stderr and where the settings say.

Called by the agent's composition root and by `saltern call`; workers inherit it. Our own records are templates such as
"event=run_found run_id=%s", whose values are quoted here where they need it; what others log becomes the value of
`msg`. No record may hold a secret: nothing is redacted here.
"""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TextIO

_LEVELS: Mapping[str, int] = {"all": 1, "garbage": 1, "trace": 5, "profile": 15, "quiet": 100}
"""Salt's names that `logging` does not have."""

_ESCAPED = str.maketrans({'"': '\\"', "\\": "\\\\"})


def logfmt_value(value: object) -> str:
    """The text of a value as logfmt has it: as it is, or quoted with the escapes of JSON.

    Quoted is what is empty or has a space, `=`, `"`, or a character that does not print (a newline, half of a
    surrogate pair). See https://pkg.go.dev/github.com/kr/logfmt.
    """
    text = str(value)
    if text and text.isprintable() and not any(mark in text for mark in ' ="'):
        return text
    shown = (each if each.isprintable() else json.dumps(each)[1:-1] for each in text.translate(_ESCAPED))
    return f'"{"".join(shown)}"'


class LogfmtFormatter(logging.Formatter):
    """A record as one line of logfmt. Its time is in UTC."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        when = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        line = f"time={when} level={record.levelname} at={logfmt_value(record.name)} {_fields(record)}"
        if record.exc_info:
            line += f" traceback={logfmt_value(self.formatException(record.exc_info))}"
        if record.stack_info:
            line += f" stack={logfmt_value(record.stack_info)}"
        return line


def _fields(record: logging.LogRecord) -> str:
    """The message: fields of a template of ours, or the value of `msg`."""
    template = str(record.msg)
    if not template.startswith("event="):
        return f"msg={logfmt_value(record.getMessage())}"
    if not isinstance(record.args, tuple):
        return template
    return template % tuple(each if isinstance(each, int | float) else logfmt_value(each) for each in record.args)


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
        handler.setFormatter(LogfmtFormatter())
    root = logging.getLogger()
    for old in root.handlers:
        if isinstance(old, logging.FileHandler):
            old.close()
    root.handlers[:] = handlers
    root.setLevel(min(handler.level for handler in handlers))


def _number(level: str) -> int:
    return _LEVELS.get(level.lower()) or int(logging.getLevelName(level.upper()))
