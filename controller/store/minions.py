"""What is known of minions, and the rows that status and reconcile read."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import msgspec
from sqlalchemy import Column, Select, bindparam, delete, func, insert, select, text, update

from controller.store.applied import applied_record
from controller.store.compiles.desired import desired_record
from controller.store.database import Database
from controller.store.holds import hold_record
from controller.store.records import DesiredRecord, HoldRecord, MinionRecord, StatusRow
from controller.store.rollouts.confirmations import confirmation_record
from controller.store.rows import chunks
from controller.store.run_tables import runs
from controller.store.schema import applied, confirmations, desired, holds, keys, minions, revisions
from controller.store.schema import runs as run_table

MOST_AGENT = 255
"""Characters that are kept of what an agent says to be."""
_WITHOUT_GRAINS = [column for column in minions.c if column.name != "grains"]
_APPLYING = ("apply", "remediate")


def _places(*parts: tuple[Iterable[Column[Any]], str]) -> Iterator[tuple[int, int, int, tuple[str, ...]]]:
    """Where each part of a status row begins and ends, where its key stands, and the names of its columns."""
    start = 0
    for columns, key in parts:
        names = tuple(column.name for column in columns)
        yield start, start + len(names), start + names.index(key), names
        start += len(names)


_RUN = run_table.c, "seq"
_PLACES = tuple(
    _places(
        (_WITHOUT_GRAINS, "id"),
        (desired.c, "minion"),
        (applied.c, "minion"),
        _RUN,
        _RUN,
        _RUN,
        (holds.c, "minion"),
        (confirmations.c, "minion"),
    )
)
"""Of the parts in the order of `_status_of_all`: minion, desired, applied, last run, drift check, open run, hold,
confirmation."""
_AFTER_PARTS = _PLACES[-1][1]

_HAS_KEY = minions.c.id.in_(
    select(keys.c.id).where(text("state = 'accepted' AND role = 'minion'"))
)  # as the partial index says it
_ACCEPTED = select(minions.c.id).where(_HAS_KEY).order_by(minions.c.id)
_ACCEPTED_OF = select(minions.c.id).where(_HAS_KEY, minions.c.id.in_(bindparam("ids", expanding=True)))
_OF_IDS = select(minions).where(minions.c.id.in_(bindparam("ids", expanding=True)))
_GREETED: dict[str, Any] = {
    "last_seen": bindparam("now"),
    **{name: bindparam(f"new_{name}") for name in ("grains", "session", "held", "agent")},
}
_GREET_AGAIN = update(minions).where(minions.c.id == bindparam("of")).values(_GREETED)
_GREET_FIRST = insert(minions).values({"id": bindparam("of"), "epoch": "", "paused": False, **_GREETED})


@dataclass(frozen=True, slots=True, kw_only=True)
class GreetedMinion:
    """What a minion has said in its Hello, and when."""

    now: float
    grains: Mapping[str, Any]
    session: str
    held: str
    agent: str = ""
    """What it is: see `controller.sessions.sessions.Session.agent`."""


@dataclass(frozen=True, slots=True)
class Minions:
    """The table of minions."""

    database: Database

    def all(self) -> list[MinionRecord]:
        """All minions with their grains, by id."""
        with self.database.read() as connection:
            return [_record(row._mapping) for row in connection.execute(select(minions).order_by(minions.c.id))]

    def last_seen(self) -> dict[str, float | None]:
        """When each minion said something last (seconds since the epoch)."""
        with self.database.read() as connection:
            return {row.id: row.last_seen for row in connection.execute(select(minions.c.id, minions.c.last_seen))}

    def accepted(self, ids: Sequence[str] | None = None) -> list[str]:
        """Ids of the minions whose key is accepted, of these or of all, sorted."""
        with self.database.read() as connection:
            if ids is None:
                return list(connection.scalars(_ACCEPTED))
            found = (connection.scalars(_ACCEPTED_OF, {"ids": part}) for part in chunks(ids))
            return sorted({each for part in found for each in part})

    def get(self, minion_id: str) -> MinionRecord | None:
        """One minion with its grains."""
        return self.of_ids([minion_id]).get(minion_id)

    def of_ids(self, ids: Sequence[str]) -> dict[str, MinionRecord]:
        """Minions with their grains, by id."""
        with self.database.read() as connection:
            rows = [row for part in chunks(ids) for row in connection.execute(_OF_IDS, {"ids": part})]
        return {row.id: _record(row._mapping) for row in rows}

    def greeted(self, greetings: Mapping[str, GreetedMinion], known: Collection[str]) -> None:
        """These minions have said Hello; those that are not `known` get their record."""
        rows = {
            minion: {
                "now": said.now,
                "new_grains": msgspec.msgpack.encode(said.grains),
                "new_session": said.session,
                "new_held": said.held,
                "new_agent": said.agent[:MOST_AGENT],
            }
            for minion, said in greetings.items()
        }
        again = [{"of": minion, **row} for minion, row in rows.items() if minion in known]
        first = [{"of": minion, **row} for minion, row in rows.items() if minion not in known]
        with self.database.write() as connection:
            if again:
                connection.execute(_GREET_AGAIN, again)
            if first:
                connection.execute(_GREET_FIRST, first)

    def seen(
        self,
        minion_id: str,
        now: float,
        *,
        grains: Mapping[str, Any] | None = None,
        session: str | None = None,
        held: str | None = None,
        epoch: str | None = None,
    ) -> None:
        """Something was heard of a minion; what is None stays as it was. The first time makes its record."""
        values: dict[str, Any] = {
            "last_seen": now,
            "grains": None if grains is None else msgspec.msgpack.encode(grains),
            "session": session,
            "held": held,
            "epoch": epoch,
        }
        values = {name: value for name, value in values.items() if value is not None}
        with self.database.write() as connection:
            if connection.execute(update(minions).where(minions.c.id == minion_id).values(values)).rowcount == 0:
                empty = {"grains": msgspec.msgpack.encode({}), "session": "", "held": "", "epoch": "", "paused": False}
                connection.execute(insert(minions).values({"id": minion_id, **empty, **values}))

    def set_paused(self, minion_ids: Sequence[str], paused: bool) -> None:
        """Pause or resume minions; unknown ids are passed over."""
        with self.database.write() as connection:
            connection.execute(update(minions).where(minions.c.id.in_(minion_ids)).values(paused=paused))

    def delete(self, minion_id: str) -> None:
        """Forget a minion with what it shall be and was; its runs stay in the history."""
        with self.database.write() as connection:
            connection.execute(delete(minions).where(minions.c.id == minion_id))

    def status(self, minion_ids: Sequence[str] | None = None) -> list[StatusRow]:
        """What status and reconcile need of these minions (None: of all), by id: one query, no document, no grains."""
        query, given = (_status_of_all(), {}) if minion_ids is None else (_status_of_some(), {"ids": list(minion_ids)})
        with self.database.read() as connection:
            # As plain tuples: a row of SQLAlchemy takes three times as long to be cut into parts.
            return [_status(tuple(row)) for row in connection.execute(query, given).all()]


@cache
def _status_of_some() -> Select[Any]:
    """The query of the minions in the parameter `ids`."""
    return _status_of_all().where(minions.c.id.in_(bindparam("ids", expanding=True)))


@cache
def _status_of_all() -> Select[Any]:
    """The query of all minions. Made once: to put it together takes longer than to run it for a few minions."""
    attempted, shown = revisions.alias("attempted"), revisions.alias("shown")
    last, drift, open_ = run_table.alias("last"), run_table.alias("drift"), run_table.alias("open")
    newest_open = (
        select(func.max(run_table.c.seq))
        .where(run_table.c.minion == minions.c.id, runs.IS_OPEN, run_table.c.kind.in_(_APPLYING))
        .where(run_table.c.test.is_(False))
        .scalar_subquery()
    )
    parts: dict[str, Iterable[Column[Any]]]
    parts = {
        "m": _WITHOUT_GRAINS, "d": desired.c, "a": applied.c, "l": last.c, "f": drift.c, "o": open_.c, "h": holds.c,
        "k": confirmations.c,
    }  # fmt: skip
    columns = [column.label(f"{part}_{column.name}") for part, found in parts.items() for column in found]
    assert len(columns) == _AFTER_PARTS  # noqa: S101  (rows are taken apart by where columns stand)
    return (
        select(
            *columns,
            attempted.c.label.label("attempted"),
            shown.c.label.label("shown"),
            shown.c.committed_at.label("committed"),
        )
        .select_from(minions)
        .outerjoin(desired, desired.c.minion == minions.c.id)
        .outerjoin(applied, applied.c.minion == minions.c.id)
        .outerjoin(holds, holds.c.minion == minions.c.id)
        .outerjoin(confirmations, confirmations.c.minion == minions.c.id)
        .outerjoin(attempted, attempted.c.digest == func.coalesce(holds.c.revision, desired.c.revision))
        .outerjoin(shown, shown.c.digest == applied.c.revision)
        .outerjoin(last, last.c.seq == minions.c.last_run)
        .outerjoin(drift, drift.c.seq == minions.c.last_drift)
        .outerjoin(open_, open_.c.seq == newest_open)
        .order_by(minions.c.id)
    )


def _status(row: tuple[Any, ...]) -> StatusRow:
    # By place, not by name: there are some ninety columns, and most of the time went into their names.
    minion, wanted, done, last, drift, open_run, held, confirmed = (
        None if row[first] is None else dict(zip(names, row[start:end], strict=True))
        for start, end, first, names in _PLACES
    )
    attempted, shown, committed = row[_AFTER_PARTS:]
    hold = None if held is None else hold_record(held)
    return StatusRow(
        minion=_record(minion or {}),
        desired=None if wanted is None else _with_hold(desired_record(wanted), hold),
        applied=None if done is None else applied_record(done),
        attempted_label=attempted or "",
        applied_label=shown or "",
        applied_committed_at=committed,
        last_run=None if last is None else runs.record(last),
        last_drift=None if drift is None else runs.record(drift),
        open_run=None if open_run is None else runs.record(open_run),
        hold=hold,
        confirmation=None if confirmed is None else confirmation_record(confirmed),
        compiled_for="" if wanted is None else wanted["revision"] or "",
    )


def _with_hold(desired: DesiredRecord, hold: HoldRecord | None) -> DesiredRecord:
    """What the minion shall have; errors and warnings stay those of what is live."""
    if hold is None:
        return desired
    return replace(desired, digest=hold.digest, revision=hold.revision, compiled_revision=hold.revision)


def _record(row: Mapping[Any, Any]) -> MinionRecord:
    grains = row.get("grains")
    return MinionRecord(
        id=row["id"],
        grains={} if grains is None else msgspec.msgpack.decode(grains, strict=False),
        session=row["session"],
        held=row["held"],
        epoch=row["epoch"],
        last_seen=row["last_seen"],
        paused=bool(row["paused"]),
        agent=row["agent"],
    )
