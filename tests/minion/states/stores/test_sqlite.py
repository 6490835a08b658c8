"""States and functions of SQLite on real files."""

import sqlite3
from contextlib import closing

import pytest

from highstate.files import MemoryFiles
from highstate.run.runner import run
from highstate.types import Chunk
from minion.engine.engine import StateEngine
from minion.execution import Context, Modules
from minion.execution.errors import CallFailed
from minion.machine.machine import LocalMachine

COLUMNS = ["id INTEGER PRIMARY KEY", "mail TEXT NOT NULL", "born TEXT", "raw BLOB"]


@pytest.fixture
def db(tmp_path):
    return str(tmp_path / "a b?#.sqlite")


@pytest.fixture
def call(db):
    modules = Modules(Context(minion_id="web1"))
    return lambda fun, *args: modules.call(f"sqlite3.{fun}", (db, *args), {})


def test_tables(converge, call, db):
    made = converge("sqlite3.table_present", "us`ers", db=db, schema=COLUMNS)
    statement = f"CREATE TABLE `us``ers` ({','.join(COLUMNS)})"
    assert (made.changes, made.comment) == ({"new": statement}, "Created table 'us`ers'")
    assert call("tables") == [["us`ers"]]
    same = converge(
        "sqlite3.table_present", "us`ers", db=db, schema=statement.replace("CREATE TABLE", "create table") + ";"
    )
    assert same.comment == "'us`ers' exists with matching schema"
    other = "CREATE TABLE `us``ers` (id INT)"
    refused = converge("sqlite3.table_present", "us`ers", db=db, schema=other)
    assert (refused.result, refused.comment) == (False, f"Expected schema={other}\nactual schema={statement}")
    replaced = converge("sqlite3.table_present", "us`ers", db=db, schema=other, force=True)
    assert (replaced.changes, replaced.comment) == ({"old": statement, "new": other}, "Replaced 'us`ers'")
    dropped = converge("sqlite3.table_absent", "us`ers", db=db)
    assert (dropped.changes, dropped.comment) == ({"old": other}, "'us`ers' was dropped")
    assert converge("sqlite3.table_absent", "us`ers", db=db).comment == "'us`ers' is already absent"


def test_schemas_that_are_none(converge, db, tmp_path):
    for schema in ("CREATE TABLE other (id INT)", "CREATE TABLE t (", [], f"ATTACH '{tmp_path / 'x'}' AS x"):
        assert converge("sqlite3.table_present", "t", db=db, schema=schema).result is False
    assert list(tmp_path.iterdir()) == []
    assert converge("sqlite3.table_absent", "t", db=db).comment == "'t' is already absent"
    assert list(tmp_path.iterdir()) == []


def test_rows(converge, call, db):
    call("modify", f"CREATE TABLE users ({','.join(COLUMNS)})")
    row = {"db": db, "table": "users", "where_sql": "mail = ?", "where_args": ["it's@x"]}
    made = converge("sqlite3.row_present", "r", data={"mail": "it's@x", "born": "1990-01-02"}, **row)
    assert (made.changes, made.comment) == ({"new": {"mail": "it's@x", "born": "1990-01-02"}}, "Inserted row")
    assert converge("sqlite3.row_present", "r", data={"mail": "it's@x"}, **row).comment == "Row exists"
    other = {"data": {"mail": "it's@x", "born": None}, **row}
    assert converge("sqlite3.row_present", "r", **other).comment == "Existing data does not match desired state"
    call("modify", "UPDATE users SET raw = X'00ff'")
    updated = converge("sqlite3.row_present", "r", update=True, **other)
    before = {"id": 1, "mail": "it's@x", "born": "1990-01-02", "raw": "X'00ff'"}
    assert updated.changes == {"old": before, "new": {"mail": "it's@x", "born": None}}
    assert updated.comment == "Row updated"
    removed = converge("sqlite3.row_absent", "r", **row)
    assert (removed.changes, removed.comment) == ({"old": {**before, "born": None}}, "Row removed")
    assert converge("sqlite3.row_absent", "r", **row).comment == "Row is absent"


def test_rows_that_cannot_be(converge, call, db):
    call("modify", "CREATE TABLE t (n INT)")
    call("modify", "INSERT INTO t VALUES (1), (1)")
    at = {"db": db, "table": "t", "where_sql": "n = 1"}
    many = "More than one row matched the specified query"
    assert converge("sqlite3.row_absent", "r", **at).comment == many
    assert converge("sqlite3.row_present", "r", data={"n": 1}, **at).comment == many
    lost = converge("sqlite3.row_absent", "r", **{**at, "where_sql": "m = 1"})
    assert (lost.result, lost.comment) == (False, f"{db}: no such column: m")
    assert converge("sqlite3.row_absent", "r", **{**at, "table": "u"}).comment == f"There is no table u in {db}"
    assert converge("sqlite3.row_absent", "r", **{**at, "db": "/no/such"}).comment == "There is no file /no/such"
    assert converge("sqlite3.row_present", "r", data={"n": [1]}, **at).result is False


def test_a_row_of_a_table_that_an_earlier_state_makes(db):
    machine = LocalMachine(sources_port=MemoryFiles({}))
    place = {"db": db, "table": "t", "where_sql": "n = 1"}
    chunks = {
        "table": Chunk(state="sqlite3", fun="table_present", id="t", name="t", sls="s",
                       arguments={"db": db, "schema": ["n INT"]}),
        "row": Chunk(state="sqlite3", fun="row_present", id="r", name="r", sls="s",
                     arguments={"data": {"n": 1}, **place}),
    }  # fmt: skip
    foretold = run(chunks, StateEngine(machine, test=True), test=True, clock=lambda: 0.0)
    assert [result.result for result in foretold.values()] == [None, None]
    done = run(chunks, StateEngine(machine, test=False), test=False, clock=lambda: 0.0)
    assert [result.changes for result in done.values()] == [{"new": "CREATE TABLE `t` (n INT)"}, {"new": {"n": 1}}]


def test_functions(call, db):
    assert call("modify", "CREATE TABLE t (n INT)") is True
    assert call("modify", "CREATE INDEX i ON t (n)") is True
    assert call("modify", "INSERT INTO t VALUES (7)") is True
    assert (call("fetch", "SELECT n FROM t"), call("tables"), call("indices")) == ([[7]], [["t"]], [["i"]])
    assert call("indexes") == [["i"]]
    with closing(sqlite3.connect(db)) as connection:
        assert connection.execute("SELECT n FROM t").fetchall() == [(7,)]
    modules = Modules(Context(minion_id="web1"))
    assert modules.call("sqlite3.sqlite_version") == sqlite3.sqlite_version
    assert modules.call("sqlite3.tables") is False
    with pytest.raises(CallFailed, match="no such table"):
        call("fetch", "SELECT * FROM none")
