"""Names and values as MySQL's SQL has them. The one place where a text becomes part of a statement.

Whatever a name holds, it ends where it is meant to end: quotes are doubled. A session has no NO_BACKSLASH_ESCAPES.
"""

from __future__ import annotations

import re

from minion.machine.failure import StateFailed

LONGEST_NAME = 64
"""Characters of the name of a database or table."""
_WORD = re.compile(r"[A-Za-z0-9_]+")


def identifier(name: str) -> str:
    """The name of a database, table or column, quoted.

    Raises:
        StateFailed: for a name that the server cannot keep.
    """
    _sent(name)
    if not name or len(name) > LONGEST_NAME or name.endswith(" "):
        raise StateFailed(
            f"{name!r} is no name for MySQL: it has 1 to {LONGEST_NAME} characters, and no space at its end"
        )
    return quoted_name(name)


def quoted_name(name: str) -> str:
    """A text between backquotes."""
    return "`" + name.replace("`", "``") + "`"


def pattern(name: str) -> str:
    """The name of a database where GRANT takes a pattern: `_` and `%` stand for themselves."""
    return identifier(name).replace("_", r"\_").replace("%", r"\%")


def literal(text: str) -> str:
    """A text, quoted. StateFailed for one that cannot be sent."""
    return "'" + _sent(text).replace("\\", "\\\\").replace("'", "''") + "'"


def account(user: str, host: str) -> str:
    """`'user'@'host'`."""
    return f"{literal(user)}@{literal(host)}"


def word(name: str, what: str) -> str:
    """The name of a character set, collation or plugin, which is not quoted. StateFailed for anything else."""
    if _WORD.fullmatch(name) is None:
        raise StateFailed(f"{name!r} is no {what}")
    return name


def _sent(text: str) -> str:
    if "\0" in text:
        raise StateFailed("A text for MySQL may hold no NUL")
    try:
        text.encode()
    except UnicodeEncodeError:
        raise StateFailed(f"{text!r} is no text that can be sent to MySQL") from None
    return text
