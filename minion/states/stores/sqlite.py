"""The state module `sqlite3`: tables and rows of SQLite files.

Behaviour: doc/ref/states/all/salt.states.sqlite3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from minion.arguments.types import AnyValue, Each, Map, ToCome
from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.stores import sqlite
from minion.providers.stores.sqlite import Statement, identifier

_SEVERAL = 2
"""Rows that are read: what matches more than one is refused, however many they are."""


class RowPlace(NamedTuple):
    """Which row of which file. `where_args`: values of the question marks in `where_sql`."""

    db: str
    table: str
    where_sql: str
    where_args: Each = []  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)


def row_present(
    machine: Reader, name: str, *, data: Map, update: bool = False, place: RowPlace, to_come: ToCome = frozenset()
) -> Plan:
    """The table has this row, with these data. One that has others is changed with `update`, else it is a failure."""
    wanted = {str(key): sqlite.value_of(one) for key, one in data.items()}
    if not wanted:
        raise StateFailed("data must be a mapping of columns to values")
    rows = _rows(machine, place, to_come)
    if len(rows) > 1:
        return Plan(comment="More than one row matched the specified query", result=False)
    if not rows:
        columns, marks = ",".join(map(identifier, wanted)), ",".join("?" * len(wanted))
        insertion = (f"INSERT INTO {identifier(place.table)} ({columns}) VALUES ({marks})", list(wanted.values()))
        return Plan(
            changes=(_new(wanted, _one_row(place.db, insertion, "Unable to insert data")),),
            pending=f"Row will be inserted into {place.table}",
            done="Inserted row",
        )
    [row] = rows
    if all(column in row and row[column] == one for column, one in wanted.items()):
        return Plan(comment="Row exists")
    if not update:
        return Plan(comment="Existing data does not match desired state", result=False)
    columns = ",".join(f"{identifier(column)}=?" for column in wanted)
    changing = f"UPDATE {identifier(place.table)} SET {columns} WHERE {place.where_sql}"
    act = _one_row(place.db, (changing, [*wanted.values(), *_values(place)]), "Row update failed")
    return Plan(
        changes=(Change(key="old", reported=sqlite.shown(row), act=act), _new(wanted, _with_the_other)),
        pending=f"Row will be update in {place.table}",
        done="Row updated",
    )


def row_absent(machine: Reader, name: str, *, place: RowPlace, to_come: ToCome = frozenset()) -> Plan:
    """The table does not have this row."""
    rows = _rows(machine, place, to_come)
    if len(rows) > 1:
        return Plan(comment="More than one row matched the specified query", result=False)
    if not rows:
        return Plan(comment="Row is absent")
    deletion = f"DELETE FROM {identifier(place.table)} WHERE {place.where_sql}"
    act = _one_row(place.db, (deletion, _values(place)), "Unable to remove row")
    return Plan(
        changes=(Change(key="old", reported=sqlite.shown(rows[0]), act=act),),
        pending=f"Row will be removed in {place.table}",
        done="Row removed",
    )


def table_present(machine: Reader, name: str, *, db: str, schema: AnyValue, force: bool = False) -> Plan:
    """The file has this table. `schema`: a statement, or a list of columns. `force`: another one is replaced."""
    sql = schema if isinstance(schema, str) else _schema(name, schema)
    found = _table(machine, db, name)
    if found == sql or found == sqlite.stored(name, sql):
        return Plan(comment=f"'{name}' exists with matching schema")
    if found is None:
        return Plan(
            changes=(Change(key="new", reported=sql, act=_tell(db, (sql, ()))),),
            pending=f"'{name}' will be created",
            done=f"Created table '{name}'",
        )
    if not force:
        return Plan(comment=f"Expected schema={sql}\nactual schema={found}", result=False)
    act = _tell(db, (f"DROP TABLE {identifier(name)}", ()), (sql, ()))
    return Plan(
        changes=(Change(key="old", reported=found, act=act), Change(key="new", reported=sql, act=_with_the_other)),
        pending=f"'{name}' will be replaced",
        done=f"Replaced '{name}'",
    )


def table_absent(machine: Reader, name: str, *, db: str) -> Plan:
    """The file does not have this table."""
    found = _table(machine, db, name)
    if found is None:
        return Plan(comment=f"'{name}' is already absent")
    return Plan(
        changes=(Change(key="old", reported=found, act=_tell(db, (f"DROP TABLE {identifier(name)}", ()))),),
        pending=f"'{name}' will be dropped",
        done=f"'{name}' was dropped",
    )


def _rows(machine: Reader, place: RowPlace, to_come: ToCome) -> list[dict[str, Any]]:
    if machine.stat(place.db) is None:
        raise sqlite.lacking(f"There is no file {place.db}", to_come)
    question = f"SELECT * FROM {identifier(place.table)} WHERE {place.where_sql}"
    found = sqlite.asked_of(place.table, place.db, question, _values(place), most=_SEVERAL)
    if found is None:
        raise sqlite.lacking(f"There is no table {place.table} in {place.db}", to_come)
    return found


def _values(place: RowPlace) -> Sequence[Any]:
    return [sqlite.value_of(one) for one in place.where_args]


def _table(machine: Reader, db: str, name: str) -> str | None:
    """The statement that made a table; None where there is none, or no file."""
    if machine.stat(db) is None:
        return None
    found = sqlite.asked(db, sqlite.TABLE, [name])
    return str(found[0]["sql"]) if found else None


def _schema(name: str, columns: Any) -> str:
    if not isinstance(columns, list) or not columns:
        raise StateFailed("schema must be a statement, or a list of columns")
    return f"CREATE TABLE {identifier(name)} ({','.join(map(str, columns))})"


def _new(wanted: Mapping[str, Any], act: Callable[[Machine], None]) -> Change:
    return Change(key="new", reported=sqlite.shown(wanted), act=act)


def _tell(db: str, *statements: Statement) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        sqlite.changed(db, *statements)

    return act


def _one_row(db: str, statement: Statement, failed: str) -> Callable[[Machine], None]:
    def act(machine: Machine) -> None:
        machine.begin_elsewhere()
        if sqlite.changed(db, statement) != 1:
            raise StateFailed(failed)

    return act


def _with_the_other(machine: Machine) -> None:
    """The act is that of the change before."""


STATES: Mapping[str, StateFunction] = {
    "row_absent": row_absent,
    "row_present": row_present,
    "table_absent": table_absent,
    "table_present": table_present,
}
