"""What waits for returners, on disk: written before it is delivered, and forgotten after.

One SQLite file, which several processes may open. Each returner has its own queue, in the order in which it was filled.
An entry has a name, so that what is put twice waits once. When there is no room, the oldest entries of the queue that
takes most go, and are counted.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["return", "event", "load", "message"]

_BUSY_SECONDS = 30.0
_SCHEMA = """
CREATE TABLE IF NOT EXISTS waiting (
  seq INTEGER PRIMARY KEY AUTOINCREMENT,
  returner TEXT NOT NULL, kind TEXT NOT NULL, name TEXT NOT NULL,
  body BLOB NOT NULL, size INTEGER NOT NULL, put REAL NOT NULL,
  UNIQUE (returner, kind, name));
CREATE TABLE IF NOT EXISTS state (
  returner TEXT PRIMARY KEY,
  delivered INTEGER NOT NULL DEFAULT 0, dropped INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0,
  error TEXT NOT NULL DEFAULT '');
CREATE TABLE IF NOT EXISTS marks (name TEXT PRIMARY KEY, value REAL NOT NULL);
"""


class SpoolBounds(NamedTuple):
    """What may wait."""

    entries: int = 100_000
    size: int = 256 * 1024 * 1024
    """Bytes of all entries."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """One entry that a returner has to get."""

    returner: str
    kind: Kind
    name: str
    """By which the same entry is known again: `jid/minion`."""
    body: Any
    """What JSON can hold."""
    seq: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueState:
    """How a returner is doing."""

    returner: str
    waiting: int
    size: int
    """Bytes that wait."""
    oldest: float
    """When the oldest was put, in seconds since the epoch; 0: nothing waits."""
    delivered: int
    dropped: int
    failures: int
    """One after the other, until now."""
    error: str
    """Of the last failure, until a delivery succeeds; or of the last entry that was refused."""


class Spool:
    """The file. A connection belongs to the thread of each call: every call opens its own.

    Args:
        path: of the file; its folder is made.
        bounds: what may wait.
    """

    def __init__(self, path: Path, bounds: SpoolBounds | None = None) -> None:
        self.path = path
        self._bounds = bounds or SpoolBounds()
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with self._open() as connection:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(_SCHEMA)

    def put(self, entries: Sequence[Waiting], marks: Sequence[tuple[str, float]] = ()) -> None:
        """Have entries wait; they are on disk when this returns.

        Args:
            entries: one whose name waits already is passed over.
            marks: names and numbers that are kept with them, for `mark`.

        Raises:
            OSError: they cannot be written.
        """
        now = time.time()
        rows = [(each, json.dumps(each.body, default=str).encode()) for each in entries]
        with self._open() as connection:
            for entry, body in rows:
                values = (entry.returner, entry.kind, entry.name, body, len(body), now)
                connection.execute(
                    "INSERT OR IGNORE INTO waiting (returner, kind, name, body, size, put) VALUES (?, ?, ?, ?, ?, ?)",
                    values,
                )
            connection.executemany("INSERT OR REPLACE INTO marks VALUES (?, ?)", marks)
            self._make_room(connection)

    def first(self, returner: str, most: int = 1) -> list[Waiting]:
        """The oldest entries of one kind that wait for a returner."""
        with self._open() as connection:
            rows = connection.execute(
                "SELECT seq, kind, name, body FROM waiting WHERE returner = ? ORDER BY seq LIMIT ?", (returner, most)
            ).fetchall()
        same = [row for row in rows if row[1] == rows[0][1]]
        return [
            Waiting(returner=returner, seq=seq, kind=kind, name=name, body=json.loads(body))
            for seq, kind, name, body in same
        ]

    def delivered(self, entries: Sequence[Waiting]) -> None:
        """Forget entries that a returner has."""
        if not entries:
            return
        with self._open() as connection:
            connection.executemany("DELETE FROM waiting WHERE seq = ?", [(entry.seq,) for entry in entries])
            connection.execute(
                "INSERT INTO state (returner, delivered) VALUES (?1, ?2) ON CONFLICT (returner) DO UPDATE SET"
                " delivered = delivered + ?2, error = CASE WHEN failures > 0 THEN '' ELSE error END, failures = 0",
                (entries[0].returner, len(entries)),
            )

    def failed(self, returner: str, error: str) -> int:
        """A returner did not take its entries, which go on waiting; how often in a row."""
        with self._open() as connection:
            row = connection.execute(
                "INSERT INTO state (returner, failures, error) VALUES (?1, 1, ?2) ON CONFLICT (returner) DO UPDATE SET"
                " failures = failures + 1, error = ?2 RETURNING failures",
                (returner, error[:500]),
            ).fetchone()
        return int(row[0])

    def refused(self, entry: Waiting, error: str) -> None:
        """A returner will never take this entry: it counts as dropped, and no longer holds up those behind it."""
        with self._open() as connection:
            connection.execute("DELETE FROM waiting WHERE seq = ?", (entry.seq,))
            connection.execute(
                "INSERT INTO state (returner, dropped, error) VALUES (?1, 1, ?2) ON CONFLICT (returner) DO UPDATE SET"
                " dropped = dropped + 1, failures = 0, error = ?2",
                (entry.returner, f"{entry.kind} {entry.name} was refused: {error}"[:500]),
            )

    def states(self) -> list[QueueState]:
        """Of all returners that ever had something."""
        with self._open() as connection:
            queues = {
                row[0]: row[1:]
                for row in connection.execute("SELECT returner, count(*), sum(size), min(put) FROM waiting GROUP BY 1")
            }
            kept = {row[0]: row[1:] for row in connection.execute("SELECT * FROM state")}
        found = []
        for name in sorted({*queues, *kept}):
            waiting, size, oldest = queues.get(name, (0, 0, 0.0))
            delivered, dropped, failures, error = kept.get(name, (0, 0, 0, ""))
            found.append(
                QueueState(
                    returner=name,
                    waiting=waiting,
                    size=size,
                    oldest=oldest,
                    delivered=delivered,
                    dropped=dropped,
                    failures=failures,
                    error=error,
                )
            )
        return found

    def waiting(self) -> list[str]:
        """Returners for which something waits."""
        with self._open() as connection:
            return [row[0] for row in connection.execute("SELECT DISTINCT returner FROM waiting ORDER BY 1")]

    def mark(self, name: str) -> float:
        """A number that was kept with `put`; 0 when there is none."""
        with self._open() as connection:
            row = connection.execute("SELECT value FROM marks WHERE name = ?", (name,)).fetchone()
        return 0.0 if row is None else float(row[0])

    def _make_room(self, connection: sqlite3.Connection) -> None:
        """Drop the oldest entries of the largest queue until the rest fits."""
        while True:
            rows = connection.execute("SELECT returner, count(*), sum(size) FROM waiting GROUP BY 1").fetchall()
            over = sum(row[1] for row in rows) - self._bounds.entries
            too_large = sum(row[2] for row in rows) - self._bounds.size
            if over <= 0 and too_large <= 0:
                return
            largest = max(rows, key=lambda row: row[2] if too_large > 0 else row[1])[0]
            gone: list[tuple[int]] = []
            freed = 0
            oldest = connection.execute("SELECT seq, size FROM waiting WHERE returner = ? ORDER BY seq", (largest,))
            for seq, size in oldest:
                if len(gone) >= max(over, 1) and freed >= too_large:
                    break
                gone.append((seq,))
                freed += size
            connection.executemany("DELETE FROM waiting WHERE seq = ?", gone)
            connection.execute(
                "INSERT INTO state (returner, dropped) VALUES (?1, ?2) ON CONFLICT (returner) DO UPDATE SET"
                " dropped = dropped + ?2",
                (largest, len(gone)),
            )

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """A transaction; what SQLite says is wrong with the file or the disk is an OSError."""
        try:
            connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS)
            try:
                connection.execute("PRAGMA synchronous=FULL")
                with connection:
                    yield connection
            finally:
                connection.close()
        except sqlite3.Error as error:
            raise OSError(f"{self.path}: {error}") from error
