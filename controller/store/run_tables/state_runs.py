"""Runs of states, many at once: their results come together, and are a few statements, not a few for each.

Used by `controller.messages.state_results`. What one run asks for alone is in `controller.store.run_tables.runs`, on
the same tables; runs are found by `CallRuns.find`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import bindparam, insert, update

from controller.store.database import Database
from controller.store.run_tables.open_calls import KnownCall, OpenCalls
from controller.store.run_tables.runs import pinned_as
from controller.store.schema import minions, results, runs

_OF_SEQ = runs.c.seq == bindparam("of")
_START = update(runs).where(_OF_SEQ, runs.c.state == "requested").values(state="started", started=bindparam("now"))
_ENDED = ("outcome", "started", "finished", "seconds", "changes", "failed", "summary", "ending", "keys", "classes")
_END = (
    update(runs)
    .where(_OF_SEQ, runs.c.state != "finished")
    .values(state="finished", **{name: bindparam(f"new_{name}") for name in _ENDED})
)
_KEEP_RESULT = insert(results)
_PIN = {
    name: update(minions).where(minions.c.id == bindparam("of")).values({name: bindparam("seq")})
    for name in ("last_run", "last_drift")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStateEnd:
    """How a run of states ended; the fields are those of `Runs.finish`."""

    known: KnownCall
    outcome: str
    started: float | None
    finished: float
    seconds: float
    changes: int
    failed: int
    summary: str
    ending: str
    keys: tuple[str, ...] | None
    classes: dict[str, int]
    result: bytes
    """Packed by `packed_result`."""


@dataclass(frozen=True, slots=True)
class StateRuns:
    """The tables of runs, for many runs of states at once."""

    database: Database
    open_calls: OpenCalls
    """Is told of runs that change here."""

    def write(self, started: Sequence[tuple[KnownCall, float]], ended: Sequence[StoredStateEnd]) -> None:
        """Note runs that wait no more, and those that have their results; each is open by what `find` has said.

        Args:
            started: and when that was, in seconds since the epoch.
            ended: those that are over, in the order of their results.
        """
        pins: dict[str, list[dict[str, Any]]] = {name: [] for name in _PIN}
        for end in ended:
            pinned = pinned_as(end.known.run, end.outcome, end.ending)
            if pinned is not None:
                pins[pinned].append({"of": end.known.run.minion, "seq": end.known.seq})
        for known in (*(known for known, _ in started), *(end.known for end in ended)):
            self.open_calls.forget(known.run.run_id)
        if not started and not ended:
            return
        with self.database.write() as connection:
            if started:
                connection.execute(_START, [{"of": known.seq, "now": now} for known, now in started])
            if ended:
                connection.execute(_END, [_new_values(end) for end in ended])
                connection.execute(_KEEP_RESULT, [{"run": end.known.seq, "blob": end.result} for end in ended])
            for name, rows in pins.items():
                if rows:
                    connection.execute(_PIN[name], rows)


def _new_values(end: StoredStateEnd) -> dict[str, Any]:
    values = {f"new_{name}": getattr(end, name) for name in _ENDED}
    values["new_keys"] = None if end.keys is None else msgspec.msgpack.encode(end.keys)
    values["new_classes"] = msgspec.json.encode(end.classes).decode() if end.classes else None
    return {"of": end.known.seq, **values}
