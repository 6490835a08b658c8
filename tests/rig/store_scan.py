"""Everything that a controller's store holds, unpacked: for a search of what must not be in it."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any


def values_of(store: Path) -> Iterator[tuple[str, bytes]]:
    """Table and column of each value, and the value without its compression."""
    connection = sqlite3.connect(f"file:{store}?mode=ro", uri=True)
    try:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for table in tables:
            rows = connection.execute(f'SELECT * FROM "{table}"')
            columns = [each[0] for each in rows.description]
            for row in rows:
                yield from ((f"{table}.{name}", _unpacked(value)) for name, value in zip(columns, row, strict=True))
    finally:
        connection.close()


def found_in(store: Path, words: Collection[str], *, apart_from: Collection[str] = ()) -> set[str]:
    """Columns that hold one of these words, apart from these tables."""
    wanted = [word.encode() for word in words]
    return {
        place
        for place, value in values_of(store)
        if place.partition(".")[0] not in apart_from and any(word in value for word in wanted)
    }


def _unpacked(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if not isinstance(value, bytes):
        return str(value).encode()
    try:
        return zlib.decompress(value)
    except zlib.error:
        return value
