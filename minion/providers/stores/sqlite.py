"""SQLite files, by Python's own library: asked without being made or written, changed in one transaction.

Called by the state and the execution module `sqlite3`.
"""

from __future__ import annotations

import datetime
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any
from urllib.parse import quote

from minion.machine.failure import ContentUnknown, StateFailed

_BRINGING = re.compile(r"archive|cmd|file|git|module|pkg|service|sqlite3")
"""State modules that may bring a file, or a table."""
_WAIT = 10.0
"""Seconds for which a file that somebody writes is waited for."""

Statement = tuple[str, Sequence[Any]]
"""SQL, and the values of its question marks."""


def asked(path: str, sql: str, values: Sequence[Any] = ()) -> list[dict[str, Any]]:
    """The rows of a question; the file is opened for reading alone. StateFailed: SQLite's words."""
    with _open(f"file:{quote(path)}?mode=ro", path) as connection:
        return _answer(connection, sql, values)


def asked_of(
    table: str, path: str, sql: str, values: Sequence[Any] = (), *, most: int = -1
) -> list[dict[str, Any]] | None:
    """The same of one table, `most` rows at most; None where there is no such table."""
    with _open(f"file:{quote(path)}?mode=ro", path) as connection:
        try:
            return _answer(connection, sql, values, most)
        except sqlite3.OperationalError:  # only now is the table itself looked for: it is there as a rule
            if connection.execute(TABLE, [table]).fetchone() is None:
                return None
            raise


def _answer(connection: sqlite3.Connection, sql: str, values: Sequence[Any], most: int = -1) -> list[dict[str, Any]]:
    cursor = connection.execute(sql, values)
    columns = [each[0] for each in cursor.description or ()]
    rows = cursor.fetchall() if most < 0 else cursor.fetchmany(most)
    return [dict(zip(columns, row, strict=True)) for row in rows]


def changed(path: str, *statements: Statement) -> int:
    """Carry statements out, all or none; how many rows the last one changed. The file is made where there is none.

    StateFailed: SQLite's words.
    """
    with _open(f"file:{quote(path)}", path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        rows = -1
        for sql, values in statements:
            rows = connection.execute(sql, values).rowcount
        connection.execute("COMMIT")
        return rows


def carried_out(path: str, sql: str) -> list[list[Any]]:
    """The rows of any one statement, which may write. StateFailed: SQLite's words."""
    with _open(f"file:{quote(path)}", path) as connection:
        return [list(row) for row in connection.execute(sql).fetchall()]


def stored(name: str, sql: str) -> str:
    """What SQLite would keep of a statement that makes a table. StateFailed where it makes none of that name."""
    with _open(":memory:", "the schema") as connection:
        connection.set_authorizer(_without_other_files)
        connection.execute(sql)
        row = connection.execute(TABLE, [name]).fetchone()
    if row is None:
        raise StateFailed(f"The schema makes no table '{name}'")
    return str(row[0])


def _without_other_files(action: int, *about: object) -> int:
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


TABLE = "SELECT sql FROM sqlite_master WHERE type = 'table' AND name = ?"


def identifier(name: str) -> str:
    """The name of a table or a column, quoted."""
    return "`" + name.replace("`", "``") + "`"


def value_of(given: Any) -> Any:
    """A value of SLS as SQLite keeps it. StateFailed for a list or a mapping."""
    if isinstance(given, list | tuple | Mapping):
        raise StateFailed(f"SQLite keeps texts, numbers and null, not {given!r}")
    if isinstance(given, bool):
        return int(given)
    if isinstance(given, datetime.datetime):
        return given.isoformat(" ")
    return given.isoformat() if isinstance(given, datetime.date) else given


def shown(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as a result may show it: bytes are the literal of them."""
    return {key: f"X'{one.hex()}'" if isinstance(one, bytes) else one for key, one in row.items()}


def lacking(text: str, to_come: Collection[tuple[str, str]]) -> Exception:
    """What to raise where a file or a table is not there: it may come in a run under test=True."""
    by = next((f"{module} {name}" for module, name in sorted(to_come) if _BRINGING.fullmatch(module)), "")
    if by:
        return ContentUnknown(f"{text}. An earlier state of this run ({by}) may bring it")
    return StateFailed(text)


@contextmanager
def _open(address: str, path: str) -> Iterator[sqlite3.Connection]:
    """A connection that begins no transaction by itself; what is not committed is rolled back when it is closed."""
    try:
        with closing(sqlite3.connect(address, uri=True, timeout=_WAIT, isolation_level=None)) as connection:
            yield connection
    except (sqlite3.Error, sqlite3.Warning, OverflowError) as error:
        raise StateFailed(f"{path}: {error}") from None
