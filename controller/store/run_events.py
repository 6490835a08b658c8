"""How many events of each run, and of the stream of each minion, were taken: one that is sent again counts once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import delete, insert, select, update

from controller.store.database import Database
from controller.store.schema import minions, run_events

_KEPT = 256
"""Runs of a minion; the oldest are forgotten. A minion sends events again of runs that are not acknowledged only."""


_STREAM = "events-"
"""How the names of streams begin in the column of run ids; no run has such an id."""


@dataclass(frozen=True, slots=True)
class RunEventCounts:
    """The table of numbers of events."""

    database: Database

    def taken(self, minion_id: str, run_id: str) -> int:
        """How many events of a run were taken."""
        query = select(run_events.c.taken).where(run_events.c.minion == minion_id, run_events.c.run_id == run_id)
        with self.database.read() as connection:
            return connection.scalar(query) or 0

    def take(self, minion_id: str, run_id: str, taken: int) -> None:
        """So many events of a run are taken by now; nothing of a minion that the store does not know."""
        of_run = run_events.c.minion == minion_id, run_events.c.run_id == run_id
        with self.database.write() as connection:
            if connection.execute(update(run_events).where(*of_run).values(taken=taken)).rowcount > 0:
                return
            if connection.scalar(select(minions.c.id).where(minions.c.id == minion_id)) is None:
                return
            connection.execute(insert(run_events).values(minion=minion_id, run_id=run_id, taken=taken))
            of_runs = run_events.c.minion == minion_id, ~run_events.c.run_id.startswith(_STREAM, autoescape=True)
            newest = select(run_events.c.seq).where(*of_runs).order_by(run_events.c.seq.desc())
            edge = connection.scalar(newest.offset(_KEPT).limit(1))
            if edge is not None:
                old = delete(run_events).where(*of_runs, run_events.c.seq <= edge)
                connection.execute(old)

    def taken_of_stream(self, minion_id: str, stream: str) -> int:
        """How many events of a stream were taken: of one that is not the minion's newest none."""
        return self.taken(minion_id, _STREAM + stream)

    def take_of_stream(self, minion_id: str, stream: str, taken: int) -> None:
        """So many events of a stream are taken by now; the minion's earlier streams are over."""
        name = _STREAM + stream
        self.take(minion_id, name, taken)
        of_streams = run_events.c.minion == minion_id, run_events.c.run_id.startswith(_STREAM, autoescape=True)
        with self.database.write() as connection:
            connection.execute(delete(run_events).where(*of_streams, run_events.c.run_id != name))
