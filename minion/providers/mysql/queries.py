"""Statements and files of other people, and what Salt tells of their answers."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from typing import Any

from minion.machine.failure import StateFailed
from minion.machine.plan import Machine, Reader
from minion.providers.mysql.session import MysqlSession, ResultRow, result_sets

_SELECTING = ("SELECT", "SHOW", "DESC")
_ROUNDED_FROM = 0.2
"""Seconds from which Salt tells them as seconds."""
_AFFECTED = re.compile(r"^Query OK, (\d+) rows? affected", re.MULTILINE)


def answer_of(machine: Machine, session: MysqlSession, query: str) -> dict[str, Any]:
    """What came of a query, as Salt has it: rows and columns of one that asks, else how many rows it changed.

    Args:
        machine: where the program runs.
        session: the database.
        query: one statement, without semicolons outside of its texts.
    """
    start = time.monotonic()
    # No DELIMITER: with --binary-mode, which keeps the program from taking text for commands of its own, there is none.
    asked = f"{query.rstrip().rstrip(';')}\n;\nSELECT ROW_COUNT() AS n;\n"
    sets = result_sets(session.run(machine, asked))
    elapsed = time.monotonic() - start
    answer: dict[str, Any] = {"query time": {"human": _human(elapsed), "raw": str(round(elapsed, 5))}}
    if query.upper().strip().startswith(_SELECTING):
        rows: Sequence[ResultRow] = sets[0] if len(sets) > 1 else []
        answer["rows returned"] = len(rows)
        answer["columns"] = list(rows[0]) if rows else []
        answer["results"] = [list(row.values()) for row in rows]
        return answer
    return answer | {"rows affected": max(0, int(sets[-1][0]["n"] or 0))}


def answer_of_file(machine: Machine, session: MysqlSession, text: str) -> dict[str, Any]:
    """What came of the statements of a file, as Salt has it, without what is empty."""
    start = time.monotonic()
    said = session.at(session.database, ("-vv",)).run(machine, text)
    elapsed = time.monotonic() - start
    sets = [rows for rows in result_sets(said) if rows]
    answer = {
        "rows returned": sum(map(len, sets)),
        "columns": [list(rows[0]) for rows in sets],
        "results": [[list(row.values()) for row in rows] for rows in sets],
        "rows affected": sum(map(int, _AFFECTED.findall(said))),
        "query time": {"human": f"{round(elapsed, 2)}s", "raw": round(elapsed, 5)},
    }
    return {key: value for key, value in answer.items() if value}


def file_of_statements(machine: Reader, place: str, saltenv: str) -> str:
    """The text of a file of statements. StateFailed when there is none."""
    if place.startswith(("s3://", "swift://")):
        raise StateFailed(f"{place} cannot be fetched: use salt://, http:// or https://")
    try:
        if place.startswith("salt://"):
            found: bytes | None = machine.source(place.removeprefix("salt://"), saltenv)
        elif place.startswith(("http://", "https://")):
            found = machine.fetch(place)
        else:
            found = machine.read(place)
    except (FileNotFoundError, IsADirectoryError):
        found = None
    if found is None:
        raise StateFailed(f"File {place} does not exist")
    try:
        return found.decode()
    except UnicodeDecodeError as error:
        raise StateFailed(f"File {place} is no text in UTF-8: byte {error.start}") from None


def _human(seconds: float) -> str:
    return f"{round(seconds * 1000, 1)}ms" if seconds < _ROUNDED_FROM else f"{round(seconds, 2)}s"
