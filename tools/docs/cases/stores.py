"""States of memcached, Redis and SQLite."""

from __future__ import annotations

from collections.abc import Mapping

from tools.docs.cases.case import Case

_DB = "{top}/f.sqlite"
_ROW = {"db": _DB, "table": "t", "where_sql": "n = 1"}
_TABLE = "python3 -c \"import sqlite3; sqlite3.connect('{top}/f.sqlite').execute('CREATE TABLE t (n INT)')\""
_FILL = (
    'python3 -c "from sqlite3 import connect\n'
    "with connect('{top}/f.sqlite') as c: c.execute('INSERT INTO t VALUES (1)')\""
)
CASES: tuple[Case, ...] = (
    Case(fun="sqlite3.table_present", name="t", arguments={"db": _DB, "schema": ["n INT"]}),
    Case(fun="sqlite3.table_absent", name="t", arguments={"db": _DB}, before=(_TABLE,)),
    Case(fun="sqlite3.row_present", name="r", arguments={"data": {"n": 1}, **_ROW}, before=(_TABLE,)),
    Case(fun="sqlite3.row_absent", name="r", arguments=_ROW, before=(_TABLE, _FILL)),
)
WITHOUT: Mapping[str, str] = {
    "memcached.absent": "tried on a memcached server of the tests",
    "memcached.managed": "tried on a memcached server of the tests",
    **{f"redis.{fun}": "tried on a Redis server of the tests" for fun in ("absent", "slaveof", "string")},
}
"""State functions that no case can run, and why."""
