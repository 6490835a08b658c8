"""How many events of each run, and of the stream of each minion, were taken: one that is sent again counts once."""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import bindparam, delete, insert, select, update

from controller.store.database import Database
from controller.store.schema import minions, run_events

_KEPT = 256
"""Runs of a minion; the oldest are forgotten. A minion sends events again of runs that are not acknowledged only."""


_STREAM = "events-"
"""How the names of streams begin in the column of run ids; no run has such an id."""


# Made once, for what every message with events asks: to make a statement takes longer than to carry it out.
_OF_RUN = run_events.c.minion == bindparam("of_minion"), run_events.c.run_id == bindparam("of_run")
_TAKEN = select(run_events.c.taken).where(*_OF_RUN)
_TAKE = update(run_events).where(*_OF_RUN).values(taken=bindparam("now"))
_FIRST = insert(run_events)
_IS_KNOWN = select(minions.c.id).where(minions.c.id == bindparam("of_minion"))
_OF_RUNS = (
    run_events.c.minion == bindparam("of_minion"),
    ~run_events.c.run_id.startswith(_STREAM, autoescape=True),
)
_EDGE = select(run_events.c.seq).where(*_OF_RUNS).order_by(run_events.c.seq.desc()).offset(_KEPT).limit(1)
_FORGET = delete(run_events).where(*_OF_RUNS, run_events.c.seq <= bindparam("edge"))


@dataclass(frozen=True, slots=True)
class RunEventCounts:
    """The table of numbers of events."""

    database: Database

    def taken(self, minion_id: str, run_id: str) -> int:
        """How many events of a run were taken."""
        with self.database.read() as connection:
            return connection.scalar(_TAKEN, {"of_minion": minion_id, "of_run": run_id}) or 0

    def take(self, minion_id: str, run_id: str, taken: int) -> None:
        """So many events of a run are taken by now; nothing of a minion that the store does not know."""
        of = {"of_minion": minion_id}
        with self.database.write() as connection:
            if connection.execute(_TAKE, {**of, "of_run": run_id, "now": taken}).rowcount > 0:
                return
            if connection.scalar(_IS_KNOWN, of) is None:
                return
            connection.execute(_FIRST, {"minion": minion_id, "run_id": run_id, "taken": taken})
            edge = connection.scalar(_EDGE, of)
            if edge is not None:
                connection.execute(_FORGET, {**of, "edge": edge})

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
