"""Names and values as SQL has them. The one place where a text becomes part of a statement.

Whatever a name holds, it ends where it is meant to end: quotes are doubled, and what PostgreSQL cannot keep is refused.
"""

from __future__ import annotations

from minion.machine.failure import StateFailed

LONGEST_NAME = 63
"""Bytes of a name that PostgreSQL keeps; it cuts off the rest."""


def identifier(name: str) -> str:
    """The name of a role, database or other object, quoted.

    Raises:
        StateFailed: for a name that PostgreSQL cannot keep as it is.
    """
    if not name:
        raise StateFailed("A name of PostgreSQL may not be empty")
    if len(_bytes_of(name)) > LONGEST_NAME:
        raise StateFailed(f"The name {name!r} is longer than the {LONGEST_NAME} bytes that PostgreSQL keeps")
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text, quoted. StateFailed for one that PostgreSQL cannot hold."""
    _bytes_of(text)
    quoted = "'" + text.replace("'", "''") + "'"
    # Without E a backslash means what the server's standard_conforming_strings says.
    return "E" + quoted.replace("\\", "\\\\") if "\\" in text else quoted


def _bytes_of(text: str) -> bytes:
    if "\0" in text:
        raise StateFailed("PostgreSQL holds no NUL in a text or a name")
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise StateFailed(f"{text!r} is no text that PostgreSQL can hold") from None
