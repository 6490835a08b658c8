"""The execution module `sqlite3`: what is in SQLite files.

Behaviour: doc/ref/modules/all/salt.modules.sqlite3.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.providers.stores import sqlite

_NAMES = "SELECT name FROM sqlite_master WHERE type = '{}' ORDER BY name"


def version(context: Context) -> str:
    """Version of the library for Python, which is that of Python's own interface."""
    return "2.6.0"


def sqlite_version(context: Context) -> str:
    """Version of SQLite."""
    return sqlite3.sqlite_version


def modify(context: Context, db: str | None = None, sql: str | None = None) -> bool:
    """Carry a statement out; the file is made where there is none."""
    if db is None or sql is None:
        return False
    sqlite.carried_out(db, sql)
    return True


def fetch(context: Context, db: str | None = None, sql: str | None = None) -> list[list[Any]] | bool:
    """All rows that a statement gives."""
    if db is None or sql is None:
        return False
    return sqlite.carried_out(db, sql)


def tables(context: Context, db: str | None = None) -> list[list[Any]] | bool:
    """Names of the tables, each a row."""
    return _names(db, "table")


def indices(context: Context, db: str | None = None) -> list[list[Any]] | bool:
    """Names of the indices, each a row."""
    return _names(db, "index")


def _names(db: str | None, kind: str) -> list[list[Any]] | bool:
    return False if db is None else [[row["name"]] for row in sqlite.asked(db, _NAMES.format(kind))]


FUNCTIONS: Mapping[str, Any] = {
    "fetch": fetch,
    "indexes": indices,
    "indices": indices,
    "modify": modify,
    "sqlite_version": sqlite_version,
    "tables": tables,
    "version": version,
}
