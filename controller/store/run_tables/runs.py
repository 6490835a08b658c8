"""Runs and their results: made once, finished once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final, Literal, Protocol

import msgspec
from sqlalchemy import Connection, bindparam, delete, func, insert, or_, select, text, update

from controller.store.database import Database
from controller.store.records import NEVER_BEGUN, RunRecord
from controller.store.rows import chunks
from controller.store.run_tables.open_calls import OpenCalls
from controller.store.run_tables.packed_results import packed_result, unpacked_result
from controller.store.schema import minions, results, runs

IS_OPEN = runs.c.state.in_(["requested", "started"])

# Made once, for what every message about a run asks: to make a statement takes longer than to carry it out.
_OF_ID = runs.c.run_id == bindparam("of")
_BY_ID = select(runs).where(_OF_ID)
_SEQ = select(runs.c.seq).where(_OF_ID)
_CREATE = insert(runs)
_START = update(runs).where(_OF_ID, runs.c.state == "requested").values(state="started", started=bindparam("now"))
_FINISH = update(runs).where(_OF_ID, runs.c.state != "finished")
_ENDED = select(runs.c.seq, runs.c.minion, runs.c.kind, runs.c.test).where(_OF_ID)
_KEEP_RESULT = insert(results)
_OF_MINION = runs.c.minion == bindparam("of")
_EDGE = select(runs.c.seq).where(_OF_MINION).order_by(runs.c.seq.desc()).offset(bindparam("keep")).limit(1)
_SIZE = func.sum(func.length(results.c.blob)).over(order_by=runs.c.seq.desc()).label("size")
_SUMS = select(runs.c.seq, _SIZE).join(results, results.c.run == runs.c.seq).where(_OF_MINION).subquery()
_OVER = select(_SUMS.c.seq).where(_SUMS.c.size > bindparam("most"))
_FORGET_RESULTS = delete(results).where(results.c.run.in_(_OVER))
_OPEN_OF = (
    select(runs)
    .where(runs.c.minion.in_(bindparam("minions", expanding=True)), text("state IN ('requested', 'started')"))
    .order_by(runs.c.seq.desc())
)  # as the partial index says it
_FIELDS = tuple(field.name for field in fields(RunRecord))
_MAY_LACK = ("user", "fun", "args", "job", "returners", "ending")
"""Columns in which nothing stands for an empty text."""
_KEYS = msgspec.msgpack.Decoder(tuple[str, ...])
_CLASSES = msgspec.json.Decoder(dict[str, int])

_PINNED: Final[Mapping[str, Literal["last_run", "last_drift"]]] = {
    "apply": "last_run",
    "remediate": "last_run",
    "drift": "last_drift",
}
_SAYS_NOTHING = ("error", "lost")
"""Outcomes of a drift check that has not looked at the machine: what the one before found still holds."""


@dataclass(frozen=True, slots=True)
class Runs:
    """The tables of runs and of their results."""

    database: Database
    open_calls: OpenCalls
    """Is told of runs that change here."""

    def create(self, run: RunRecord) -> bool:
        """Keep a new run; False when its id is known, and nothing is changed."""
        with self.database.write() as connection:
            if connection.scalar(_SEQ, {"of": run.run_id}) is not None:
                return False
            connection.execute(_CREATE, new_row(run))
        return True

    def create_all(self, new: Sequence[RunRecord]) -> None:
        """Keep new runs, whose ids are not known yet."""
        if new:
            with self.database.write() as connection:
                connection.execute(_CREATE, list(map(new_row, new)))

    def start(self, run_id: str, now: float) -> bool:
        """The minion has begun it; False, and nothing happens, when it is no longer waiting."""
        self.open_calls.forget(run_id)
        with self.database.write() as connection:
            return connection.execute(_START, {"of": run_id, "now": now}).rowcount > 0

    def compiled(self, run_id: str, digest: str) -> None:
        """The document of a call was compiled, and is sent."""
        self.open_calls.forget(run_id)
        with self.database.write() as connection:
            connection.execute(update(runs).where(runs.c.run_id == run_id).values(digest=digest))

    def finish(
        self,
        run_id: str,
        outcome: str,
        *,
        finished: float,
        started: float | None = None,
        seconds: float = 0.0,
        changes: int = 0,
        failed: int = 0,
        summary: str = "",
        ending: str = "",
        keys: Sequence[str] | None = None,
        classes: Mapping[str, int] | None = None,
        result: Any = None,
    ) -> bool:
        """Close a run with its result; True the first time, False (and no change) when it has one or is unknown.

        Args:
            run_id: of a run that `create` knows.
            outcome: as in `RunResult`.
            finished: seconds since the epoch.
            started: by the minion's clock.
            seconds: that it took.
            changes: chunks that changed, or would.
            failed: chunks that failed.
            summary: one line for people.
            ending: what ended it, as in `RunResult`.
            keys: in the place of those that it was made with, which nobody needs any more: names may hold secrets.
            classes: of a drift check, `RunRecord.classes`.
            result: anything that msgpack can hold (a `RunResult`), for `result`.
        """
        values: dict[str, Any] = {"outcome": outcome, "finished": finished, "seconds": seconds, "changes": changes}
        values |= {"failed": failed, "summary": summary, "ending": ending}
        values |= {} if started is None else {"started": started}
        values |= {} if keys is None else {"keys": msgspec.msgpack.encode(tuple(keys))}
        values |= {"classes": msgspec.json.encode(classes).decode()} if classes else {}
        self.open_calls.forget(run_id)
        with self.database.write() as connection:
            return _finish(connection, run_id, result, values)

    def get(self, run_id: str) -> RunRecord | None:
        """A run by its id."""
        with self.database.read() as connection:
            row = connection.execute(_BY_ID, {"of": run_id}).first()
        return None if row is None else record(row._mapping)

    def find(self, prefix: str, limit: int = 10) -> list[RunRecord]:
        """Runs whose id begins with this text, newest first."""
        query = select(runs).where(runs.c.run_id.startswith(prefix, autoescape=True))
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(runs.c.seq.desc()).limit(limit)).all()
        return [record(row._mapping) for row in rows]

    def of_job(self, jid: str) -> list[RunRecord]:
        """The runs of a job, by its id or that of any of them; none when there is no such job."""
        with self.database.read() as connection:
            job = connection.scalar(select(runs.c.job).where(runs.c.run_id == jid))
            first = job or jid
            query = select(runs).where(or_(runs.c.job == first, runs.c.run_id == first)).order_by(runs.c.seq)
            return [record(row._mapping) for row in connection.execute(query)]

    def result(self, run_id: str) -> Any:
        """What `finish` was given as result, as plain values; None when there is none."""
        query = select(results.c.blob).join(runs, runs.c.seq == results.c.run).where(runs.c.run_id == run_id)
        with self.database.read() as connection:
            blob = connection.scalar(query)
        return None if blob is None else unpacked_result(blob)

    def newest(
        self,
        *,
        minion: str | None = None,
        kinds: Sequence[str] = (),
        outcomes: Sequence[str] = (),
        revision: str | None = None,
        open_only: bool = False,
        before: str = "",
        limit: int | None = 100,
        aside: bool = False,
    ) -> list[RunRecord]:
        """Runs that meet all conditions given, newest first; `open_only`: those without a result.

        `before`: those that were made before this run. `aside`: nothing else waits while they are read, in a thread.
        """
        query = select(runs).order_by(runs.c.seq.desc()).limit(limit)
        if minion is not None:
            query = query.where(runs.c.minion == minion)
        if kinds:
            query = query.where(runs.c.kind.in_(kinds))
        if outcomes:
            query = query.where(runs.c.outcome.in_(outcomes))
        if before:
            query = query.where(runs.c.seq < select(runs.c.seq).where(runs.c.run_id == before).scalar_subquery())
        if revision is not None:
            query = query.where(runs.c.revision == revision)
        if open_only:
            query = query.where(IS_OPEN)
        with self.database.read_aside() if aside else self.database.read() as connection:
            rows = connection.execute(query).all()
        return [record(row._mapping) for row in rows]

    def newest_of(self, funs: Sequence[str], kind: str, limit: int, *, before: str = "") -> list[RunRecord]:
        """Calls of these functions, newest first.

        Args:
            funs: their names.
            kind: of runs.
            limit: at most so many.
            before: only those older than this run; none where it is not known.
        """
        query = select(runs).where(runs.c.minion == "", runs.c.kind == kind, runs.c.fun.in_(funs))
        if before:
            query = query.where(runs.c.seq < select(runs.c.seq).where(runs.c.run_id == before).scalar_subquery())
        with self.database.read() as connection:
            rows = connection.execute(query.order_by(runs.c.seq.desc()).limit(limit))
            return [record(row._mapping) for row in rows]

    def finished_since(self, time: float, kinds: Sequence[str]) -> list[RunRecord]:
        """Finished runs of these kinds that were made at this time (seconds since the epoch) or later, oldest first."""
        query = select(runs).where(runs.c.created >= time, runs.c.kind.in_(kinds), runs.c.state == "finished")
        with self.database.read() as connection:
            return [record(row._mapping) for row in connection.execute(query.order_by(runs.c.seq))]

    def to_return(self, limit: int) -> list[RunRecord]:
        """The oldest finished runs whose returners do not have them yet."""
        query = select(runs).where(runs.c.returners.is_not(None), runs.c.state == "finished")
        with self.database.read() as connection:
            return [record(row._mapping) for row in connection.execute(query.order_by(runs.c.seq).limit(limit))]

    def handed_over(self, run_ids: Sequence[str]) -> None:
        """The returners of these runs have them, or what waits for them is elsewhere on disk."""
        with self.database.write() as connection:
            for run_id in run_ids:
                connection.execute(update(runs).where(runs.c.run_id == run_id).values(returners=None))

    def open(self, minion: str | None = None) -> list[RunRecord]:
        """Runs without a result, newest first."""
        return self.newest(minion=minion, open_only=True, limit=None)

    def oldest_open(self, limit: int) -> tuple[list[RunRecord], int]:
        """The oldest runs without a result, and how many there are."""
        where = text("state IN ('requested', 'started')")  # as the partial index says it
        with self.database.read() as connection:
            rows = connection.execute(select(runs).where(where).order_by(runs.c.seq).limit(limit))
            found = [record(row._mapping) for row in rows]
            return found, connection.execute(select(func.count()).select_from(runs).where(where)).scalar_one()

    def open_of(self, ids: Sequence[str]) -> list[RunRecord]:
        """Runs of these minions without a result, newest first."""
        with self.database.read() as connection:
            rows = [row for part in chunks(ids) for row in connection.execute(_OPEN_OF, {"minions": part})]
        return [record(row._mapping) for row in rows]

    def prune(self, keep: int, minion: str, result_bytes: int = 2**63 - 1) -> int:
        """Forget the minion's closed runs older than its newest `keep`, but for its last apply and drift check.

        Of those that stay, the results of the newest are kept, as many as take `result_bytes` in the store. Cheap
        enough to be called for each result. Returns the number of runs forgotten.
        """
        with self.database.write() as connection:
            gone = _prune(connection, minion, keep)
            _prune_results(connection, minion, result_bytes)
            return gone

    def minions(self) -> list[str]:
        """The minions that have runs."""
        with self.database.read() as connection:
            return list(connection.scalars(select(runs.c.minion).distinct()))


def _finish(connection: Connection, run_id: str, result: Any, values: Mapping[str, Any]) -> bool:
    if connection.execute(_FINISH, {**values, "state": "finished", "of": run_id}).rowcount == 0:
        return False
    row = connection.execute(_ENDED, {"of": run_id}).one()
    if result is not None:
        connection.execute(_KEEP_RESULT, {"run": row.seq, "blob": packed_result(result)})
    if (pinned := pinned_as(row, values["outcome"], values["ending"])) is not None:
        connection.execute(update(minions).where(minions.c.id == row.minion).values({pinned: row.seq}))
    return True


class _Ended(Protocol):
    @property
    def kind(self) -> str: ...

    @property
    def test(self) -> bool: ...


def pinned_as(run: _Ended, outcome: str, ending: str) -> Literal["last_run", "last_drift"] | None:
    """As what a minion's record names a run that ended so; None: it says nothing of the machine."""
    pinned = _PINNED.get(run.kind)
    counts = outcome not in _SAYS_NOTHING if pinned == "last_drift" else not run.test
    return pinned if counts and ending != NEVER_BEGUN else None


def _prune(connection: Connection, minion: str, keep: int) -> int:
    edge = connection.scalar(_EDGE, {"of": minion, "keep": max(keep, 0)})
    if edge is None:
        return 0
    pinned = connection.execute(select(minions.c.last_run, minions.c.last_drift).filter_by(id=minion)).first()
    kept = [seq for seq in pinned or () if seq is not None]
    old = delete(runs).where(runs.c.minion == minion, runs.c.seq <= edge, ~IS_OPEN, runs.c.seq.not_in(kept))
    return connection.execute(old).rowcount


def _prune_results(connection: Connection, minion: str, most: int) -> None:
    """Forget the results of a minion that are older than those that take `most` bytes together."""
    connection.execute(_FORGET_RESULTS, {"of": minion, "most": most})


def new_row(run: RunRecord) -> dict[str, Any]:
    """The columns of a new run."""
    values = {name: getattr(run, name) for name in _FIELDS}
    values["keys"] = None if run.keys is None else msgspec.msgpack.encode(run.keys)
    values["cause"] = values.pop("reason")
    values["returners"] = run.returners or None
    values["classes"] = None
    return values


def record(row: Mapping[Any, Any]) -> RunRecord:
    """From a row's columns by name."""
    values = dict(row)
    del values["seq"]
    values["reason"] = values.pop("cause")
    if (keys := values["keys"]) is not None:
        values["keys"] = _KEYS.decode(keys)
    values["test"] = bool(values["test"])
    values["classes"] = _CLASSES.decode(classes) if (classes := values["classes"]) else {}
    for name in _MAY_LACK:
        if values[name] is None:
            values[name] = ""
    return RunRecord(**values)
