"""Runs and their results: made once, finished once. Called by `Store`."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import msgspec
from sqlalchemy import Connection, delete, insert, select, update

from controller.store.records import RunRecord
from controller.store.schema import minions, results, runs

IS_OPEN = runs.c.state.in_(["requested", "started"])
_PINNED = {"apply": "last_run", "remediate": "last_run", "drift": "last_drift"}


def create(connection: Connection, run: RunRecord) -> bool:
    """Keep a new run; False when its id is known, and nothing is changed."""
    if connection.scalar(select(runs.c.seq).where(runs.c.run_id == run.run_id)) is not None:
        return False
    values = asdict(run) | {"keys": None if run.keys is None else msgspec.msgpack.encode(run.keys)}
    connection.execute(insert(runs).values(values))
    return True


def start(connection: Connection, run_id: str, now: float) -> None:
    """The minion has begun it; nothing happens to one that is no longer waiting."""
    waiting = update(runs).where(runs.c.run_id == run_id, runs.c.state == "requested")
    connection.execute(waiting.values(state="started", started=now))


def supersede(connection: Connection, run_id: str, outcome: str, now: float) -> bool:
    """Close a run without a result; one that has a result is left as it is. A result may still come."""
    open_ = update(runs).where(runs.c.run_id == run_id, IS_OPEN)
    return connection.execute(open_.values(state="superseded", outcome=outcome, finished=now)).rowcount == 1


def finish(connection: Connection, run_id: str, result: Any, values: Mapping[str, Any]) -> bool:
    """Close a run with its result; True the first time, else nothing is changed."""
    closing = update(runs).where(runs.c.run_id == run_id, runs.c.state != "finished")
    if connection.execute(closing.values({**values, "state": "finished"})).rowcount == 0:
        return False
    row = connection.execute(select(runs.c.seq, runs.c.minion, runs.c.kind, runs.c.test).filter_by(run_id=run_id)).one()
    if result is not None:
        blob = zlib.compress(msgspec.msgpack.encode(result), 1)
        connection.execute(insert(results).values(run=row.seq, blob=blob))
    pinned = _PINNED.get(row.kind)
    if pinned is not None and (pinned == "last_drift" or not row.test):
        connection.execute(update(minions).where(minions.c.id == row.minion).values({pinned: row.seq}))
    return True


def one(connection: Connection, run_id: str) -> RunRecord | None:
    """A run by its id."""
    row = connection.execute(select(runs).where(runs.c.run_id == run_id)).first()
    return None if row is None else record(row._mapping)


def beginning_with(connection: Connection, prefix: str, limit: int) -> list[RunRecord]:
    """Runs whose id begins with this text, newest first."""
    query = select(runs).where(runs.c.run_id.startswith(prefix, autoescape=True))
    return [record(row._mapping) for row in connection.execute(query.order_by(runs.c.seq.desc()).limit(limit))]


def result(connection: Connection, run_id: str) -> Any:
    """What `finish` was given as result, as plain values; None when there is none."""
    query = select(results.c.blob).join(runs, runs.c.seq == results.c.run).where(runs.c.run_id == run_id)
    blob = connection.scalar(query)
    return None if blob is None else msgspec.msgpack.decode(zlib.decompress(blob), strict=False)


def listed(
    connection: Connection,
    *,
    minion: str | None = None,
    kinds: Sequence[str] = (),
    revision: str | None = None,
    open_only: bool = False,
    limit: int | None = None,
) -> list[RunRecord]:
    """Runs, newest first; those of all conditions given."""
    query = select(runs).order_by(runs.c.seq.desc()).limit(limit)
    if minion is not None:
        query = query.where(runs.c.minion == minion)
    if kinds:
        query = query.where(runs.c.kind.in_(kinds))
    if revision is not None:
        query = query.where(runs.c.revision == revision)
    if open_only:
        query = query.where(IS_OPEN)
    return [record(row._mapping) for row in connection.execute(query)]


def prune(connection: Connection, minion: str, keep: int) -> int:
    """Forget the minion's closed runs older than its newest `keep`, but for its last apply and drift check."""
    newest = select(runs.c.seq).where(runs.c.minion == minion).order_by(runs.c.seq.desc())
    edge = connection.scalar(newest.offset(max(keep, 0)).limit(1))
    if edge is None:
        return 0
    pinned = connection.execute(select(minions.c.last_run, minions.c.last_drift).filter_by(id=minion)).first()
    kept = [seq for seq in pinned or () if seq is not None]
    old = delete(runs).where(runs.c.minion == minion, runs.c.seq <= edge, ~IS_OPEN, runs.c.seq.not_in(kept))
    return connection.execute(old).rowcount


def record(row: Mapping[Any, Any]) -> RunRecord:
    """From a row's columns by name."""
    values = {name: value for name, value in row.items() if name != "seq"}
    values["keys"] = None if row["keys"] is None else msgspec.msgpack.decode(row["keys"], type=tuple[str, ...])
    values["test"] = bool(row["test"])
    return RunRecord(**values)
