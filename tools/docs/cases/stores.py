"""States of InfluxDB, memcached, Redis and SQLite."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, SERVED, Case, serving

_DB = "{top}/f.sqlite"
_ROW = {"db": _DB, "table": "t", "where_sql": "n = 1"}
_TABLE = "python3 -c \"import sqlite3; sqlite3.connect('{top}/f.sqlite').execute('CREATE TABLE t (n INT)')\""
_FILL = (
    'python3 -c "from sqlite3 import connect\n'
    "with connect('{top}/f.sqlite') as c: c.execute('INSERT INTO t VALUES (1)')\""
)
_REDIS = {"host": "127.0.0.1", "port": 54330}
_INFLUXDB = {"influxdb_host": "127.0.0.1", "influxdb_port": 21886}
_CACHE = {"host": "127.0.0.1", "port": 54331}


def _redis(fun: str, name: str, *commands: str, **arguments: Any) -> Case:
    """A case on a server of its own, which has carried out these commands."""
    server = serving("redis-server --port 54330 --bind 127.0.0.1 --save ''", "redis-cli -p 54330 ping")
    return Case(
        fun=f"redis.{fun}",
        name=name,
        arguments={**arguments, **_REDIS},
        before=(server, *(f"redis-cli -p 54330 {command}" for command in commands)),
        after=(SERVED,),
        needs=("redis-server",),
    )


def _memcached(fun: str, name: str, kept: str = "", **arguments: Any) -> Case:
    """A case on a server of its own, which has this value of the key."""
    shell = "exec 3<>/dev/tcp/127.0.0.1/54331"
    told = f"{shell}; printf 'set {name} 0 0 {len(kept)}\\r\\n{kept}\\r\\nquit\\r\\n' >&3; cat <&3"
    return Case(
        fun=f"memcached.{fun}",
        name=name,
        arguments={**arguments, **_CACHE},
        before=(
            serving("memcached -l 127.0.0.1 -p 54331 -U 0 -u nobody", f"bash -c '{shell}'"),
            *([f'bash -c "{told}"'] if kept else []),
        ),
        after=(SERVED,),
        needs=("memcached",),
    )


_QUERY = "SELECT mean(v) INTO m2 FROM m GROUP BY time(5m)"


def _influxdb(fun: str, name: str, *statements: str, **arguments: Any) -> Case:
    """A case on a server of its own, which has carried out these statements."""
    settings = {
        "HTTP_BIND_ADDRESS": "127.0.0.1:21886", "BIND_ADDRESS": "127.0.0.1:21887", "REPORTING_DISABLED": "true",
        "META_DIR": f"{BESIDE}/meta", "DATA_DIR": f"{BESIDE}/data", "DATA_WAL_DIR": f"{BESIDE}/wal",
        "MONITOR_STORE_ENABLED": "false",
    }  # fmt: skip
    told = "influx -port 21886 -execute"
    variables = " ".join(f"INFLUXDB_{key}={value}" for key, value in settings.items())
    server = serving(f"env {variables} influxd", f"{told} 'SHOW DATABASES'")
    gone = f"for n in $(seq 100); do {told} 'SHOW DATABASES' >/dev/null 2>&1 || break; sleep 0.1; done"
    return Case(
        fun=f"influxdb_{fun}",
        name=name,
        arguments={**arguments, **_INFLUXDB},
        before=(server, *(f'{told} "{statement}"' for statement in statements)),
        after=(SERVED, gone),
        needs=("influxdb", "influxdb-client"),
    )


_PASSWORD = "p"  # noqa: S105  (of a server of the case)
_MADE = "CREATE DATABASE d"
_USER = f"CREATE USER u WITH PASSWORD '{_PASSWORD}'"
_POLICY = "CREATE RETENTION POLICY rp ON d DURATION 3d REPLICATION 1"
_CONTINUOUS = f"CREATE CONTINUOUS QUERY cq ON d BEGIN {_QUERY} END"
CASES: tuple[Case, ...] = (
    _influxdb("database.present", "d"),
    _influxdb("database.present", "d", _MADE),
    _influxdb("database.absent", "d", _MADE),
    _influxdb("user.present", "u", _MADE, passwd=_PASSWORD, grants={"d": "READ"}),
    _influxdb(
        "user.present", "u", _MADE, _USER, "GRANT READ ON d TO u", passwd=_PASSWORD, admin=True, grants={"d": "all"}
    ),
    _influxdb("user.present", "u", _USER, passwd=_PASSWORD),
    _influxdb("user.absent", "u", _USER),
    _influxdb("retention_policy.present", "rp", _MADE, database="d", duration="2d"),
    _influxdb("retention_policy.present", "rp", _MADE, _POLICY, database="d", duration="2w", default=True),
    _influxdb("retention_policy.present", "rp", _MADE, _POLICY, database="d", duration="3d"),
    _influxdb("retention_policy.absent", "rp", _MADE, _POLICY, database="d"),
    _influxdb("continuous_query.present", "cq", _MADE, database="d", query=_QUERY, resample_time="10m"),
    _influxdb("continuous_query.absent", "cq", _MADE, _CONTINUOUS, database="d"),
    Case(fun="sqlite3.table_present", name="t", arguments={"db": _DB, "schema": ["n INT"]}),
    Case(fun="sqlite3.table_absent", name="t", arguments={"db": _DB}, before=(_TABLE,)),
    Case(fun="sqlite3.row_present", name="r", arguments={"data": {"n": 1}, **_ROW}, before=(_TABLE,)),
    Case(fun="sqlite3.row_absent", name="r", arguments=_ROW, before=(_TABLE, _FILL)),
    _redis("string", "k", value="v"),
    _redis("string", "k", "set k old", value="v", expire=900),
    _redis("absent", "k", "set k v"),
    _redis("absent", "x", "mset k1 v k2 v", keys=["k1", "k2", "k3"]),
    _memcached("managed", "k", value="v"),
    _memcached("managed", "k", "old", value="v"),
    _memcached("absent", "k", "old"),
    _memcached("absent", "k", "old", value="old"),
)
WITHOUT: Mapping[str, str] = {
    **{
        f"elasticsearch.{fun}_{end}": "tried on a server of the tests that has its API"
        for fun in ("alias", "index", "index_template", "pipeline", "script", "search_template")
        for end in ("absent", "present")
    },
    **{
        f"mongodb_{fun}": "tried on a server of the tests that speaks its protocol"
        for fun in ("database.absent", "user.absent", "user.present")
    },
    "redis.slaveof": "tried on a Redis server and a Sentinel of the tests",
}
"""State functions that no case can run, and why."""
