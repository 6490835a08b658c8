"""Runs of functions, many at once: a job of ten thousand minions is a few statements, not a few for each.

Used by `controller.jobs.jobs` and `controller.messages.call_results`. What one run asks for alone is in
`controller.store.runs`, on the same tables.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import bindparam, insert, select, update

from controller.store.database import Database
from controller.store.records import RunRecord
from controller.store.runs import new_row, record
from controller.store.schema import results, runs

_AT_ONCE = 500
"""Run ids of one question."""
_CREATE = insert(runs)
_OF_IDS = select(runs).where(runs.c.run_id.in_(bindparam("ids", expanding=True)))
_OF_SEQ = runs.c.seq == bindparam("of")
_START = update(runs).where(_OF_SEQ).values(state="started", started=bindparam("now"))
_END = (
    update(runs)
    .where(_OF_SEQ)
    .values(
        state="finished",
        **{
            name: bindparam(f"new_{name}")
            for name in ("outcome", "started", "finished", "seconds", "summary", "ending")
        },
    )
)
_KEEP_RESULT = insert(results)


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownCall:
    """A run of a function in the store."""

    seq: int
    run: RunRecord


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredCallEnd:
    """How a run of a function ended; the fields are those of `Runs.finish`."""

    seq: int
    outcome: str
    started: float | None
    finished: float
    seconds: float
    summary: str
    ending: str
    result: bytes
    """Packed by `packed_result`."""


@dataclass(frozen=True, slots=True)
class CallRuns:
    """The tables of runs, for many runs of functions at once."""

    database: Database

    def create(self, new: Sequence[RunRecord]) -> None:
        """Keep new runs of functions; their ids are known to nobody yet."""
        if not new:
            return
        rows = [new_row(run) for run in new]
        with self.database.write() as connection:
            connection.execute(_CREATE, rows)

    def find(self, run_ids: Sequence[str]) -> dict[str, KnownCall]:
        """By run id, those that there are."""
        found: dict[str, KnownCall] = {}
        with self.database.read() as connection:
            for part in _parts(run_ids):
                for row in connection.execute(_OF_IDS, {"ids": part}):
                    found[row.run_id] = KnownCall(seq=row.seq, run=record(row._mapping))
        return found

    def write(self, started: Sequence[tuple[int, float]], ended: Sequence[StoredCallEnd]) -> None:
        """Note runs that wait no more, and those that have their results; each is open by what `find` has said.

        Args:
            started: `seq` and when that was, in seconds since the epoch.
            ended: those that are over.
        """
        if not started and not ended:
            return
        with self.database.write() as connection:
            if started:
                connection.execute(_START, [{"of": seq, "now": now} for seq, now in started])
            if ended:
                connection.execute(_END, [_new_values(end) for end in ended])
                connection.execute(_KEEP_RESULT, [{"run": end.seq, "blob": end.result} for end in ended])


def packed_result(result: Any) -> bytes:
    """A result as the store keeps it."""
    return zlib.compress(msgspec.msgpack.encode(result), 1)


def _new_values(end: StoredCallEnd) -> dict[str, Any]:
    return {
        "of": end.seq,
        "new_outcome": end.outcome,
        "new_started": end.started,
        "new_finished": end.finished,
        "new_seconds": end.seconds,
        "new_summary": end.summary,
        "new_ending": end.ending,
    }


def _parts(run_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (run_ids[at : at + _AT_ONCE] for at in range(0, len(run_ids), _AT_ONCE))
