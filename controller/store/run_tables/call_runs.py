"""Runs of functions, many at once: a job of ten thousand minions is a few statements, not a few for each.

Used by `controller.jobs.jobs` and `controller.messages.call_results`. What one run asks for alone is in
`controller.store.run_tables.runs`, on the same tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, insert, select, update

from controller.store.database import Database
from controller.store.errors import StoreUnavailable
from controller.store.records import RunRecord
from controller.store.run_tables.open_calls import KnownCall, OpenCalls
from controller.store.run_tables.runs import new_row, record
from controller.store.schema import results, runs

_AT_ONCE = 500
"""Run ids of one question."""
_CREATE = insert(runs)
_OF_IDS = select(runs).where(runs.c.run_id.in_(bindparam("ids", expanding=True)))
_MADE = select(runs.c.seq, runs.c.run_id).where(runs.c.job == bindparam("job"), runs.c.run_id >= bindparam("first"))
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
class StoredCallEnd:
    """How a run of a function ended; the fields are those of `Runs.finish`."""

    call: KnownCall
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
    open_calls: OpenCalls

    def create(self, new: Sequence[RunRecord]) -> list[KnownCall]:
        """Keep new runs of one job; their ids rise, and are known to nobody yet.

        Returns:
            Those without a result, for `remember` once the transaction is over.
        """
        if not new:
            return []
        rows = [new_row(run) for run in new]
        with self.database.write() as connection:
            connection.execute(_CREATE, rows)
            made = connection.execute(_MADE, {"job": new[0].job, "first": min(run.run_id for run in new)})
            numbers = {row.run_id: row.seq for row in made}
        return [KnownCall(seq=numbers[run.run_id], run=run) for run in new if run.state != "finished"]

    def remember(self, calls: Sequence[KnownCall]) -> None:
        """These are in the store: `find` need not read them."""
        self.open_calls.remember(calls)

    def is_open(self, run_id: str) -> bool:
        """Whether this is a call that is known to be open, without a look into the database."""
        return bool(self.open_calls.of([run_id]))

    def find(self, run_ids: Sequence[str]) -> dict[str, KnownCall]:
        """By run id, those that there are."""
        found = self.open_calls.of(run_ids)
        unknown = [run_id for run_id in run_ids if run_id not in found]
        if not unknown:
            return found
        with self.database.read() as connection:
            for part in _parts(unknown):
                for row in connection.execute(_OF_IDS, {"ids": part}):
                    found[row.run_id] = KnownCall(seq=row.seq, run=record(row._mapping))
        return found

    def write(self, started: Sequence[tuple[KnownCall, float]], ended: Sequence[StoredCallEnd]) -> None:
        """Note runs that wait no more, and those that have their results; each is open by what `find` has said.

        Args:
            started: and when that was, in seconds since the epoch.
            ended: those that are over.
        """
        if not started and not ended:
            return
        try:
            self._write(started, ended)
        except StoreUnavailable:
            self.open_calls.forget_all()
            raise
        for call in (*(call for call, _ in started), *(end.call for end in ended)):
            self.open_calls.forget(call.run.run_id)

    def _write(self, started: Sequence[tuple[KnownCall, float]], ended: Sequence[StoredCallEnd]) -> None:
        with self.database.write() as connection:
            if started:
                connection.execute(_START, [{"of": call.seq, "now": now} for call, now in started])
            if ended:
                connection.execute(_END, [_new_values(end) for end in ended])
                connection.execute(_KEEP_RESULT, [{"run": end.call.seq, "blob": end.result} for end in ended])


def _new_values(end: StoredCallEnd) -> dict[str, Any]:
    return {
        "of": end.call.seq,
        "new_outcome": end.outcome,
        "new_started": end.started,
        "new_finished": end.finished,
        "new_seconds": end.seconds,
        "new_summary": end.summary,
        "new_ending": end.ending,
    }


def _parts(run_ids: Sequence[str]) -> Iterator[Sequence[str]]:
    return (run_ids[at : at + _AT_ONCE] for at in range(0, len(run_ids), _AT_ONCE))
