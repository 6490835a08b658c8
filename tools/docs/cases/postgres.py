"""Cases of the states of PostgreSQL: on a cluster of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import Case

_CLUSTER, _PORT = "salterncase", 54329
_STOPPED = f"pg_dropcluster --stop {{postgresql}} {_CLUSTER} 2>/dev/null || true"
_PSQL = f"su postgres -s /bin/sh -c 'psql -q -p {_PORT} -v ON_ERROR_STOP=1'"


def _postgres(fun: str, name: str, sql: str = "", **arguments: Any) -> Case:
    """A case on a cluster of its own, in which these statements were carried out."""
    statements = (f"{_PSQL} <<'END'\n{sql}\nEND",) if sql else ()
    folder = ("chmod 755 {top} && mkdir {top}/space && chown postgres {top}/space",)
    return Case(
        fun=f"postgres_{fun}",
        name=name,
        arguments={**arguments, "db_port": _PORT},
        before=(
            *folder,
            f"pg_createcluster --start -p {_PORT} {{postgresql}} {_CLUSTER} -- --no-sync --locale=C.UTF-8",
            *statements,
        ),
        after=(_STOPPED,),
        needs=_POSTGRESQL,
    )


_POSTGRESQL = ("postgresql", "postgresql-contrib")
_SECRET = {"password": "sesame"}
_GRANTED = {"object_name": "t", "object_type": "table", "privileges": ["SELECT", "INSERT"]}

CASES: tuple[Case, ...] = (
    Case(fun="postgres_cluster.present", name=_CLUSTER, after=(_STOPPED,), needs=_POSTGRESQL,
         arguments={"version": "{postgresql}", "port": _PORT, "encoding": "UTF8", "data_checksums": True}),
    Case(fun="postgres_cluster.absent", name=_CLUSTER, after=(_STOPPED,), needs=_POSTGRESQL,
         before=(f"pg_createcluster --start -p {_PORT} {{postgresql}} {_CLUSTER}",),
         arguments={"version": "{postgresql}"}),
    _postgres("database.present", "case", owner="postgres", encoding="UTF8", template="template0"),
    _postgres("database.present", "case", "CREATE DATABASE \"case\"; CREATE ROLE other;", owner="other"),
    _postgres("database.absent", "case", "CREATE DATABASE \"case\";"),
    _postgres("extension.present", "hstore"),
    _postgres("extension.present", "hstore", "CREATE EXTENSION hstore; CREATE SCHEMA other;", schema="other"),
    _postgres("extension.absent", "hstore", "CREATE EXTENSION hstore;"),
    _postgres("group.present", "case", createdb=True),
    _postgres("group.present", "case", "CREATE ROLE \"case\"; CREATE ROLE other;", createdb=True, groups=["other"]),
    _postgres("group.absent", "case", "CREATE ROLE \"case\";"),
    Case(fun="postgres_initdb.present", name="{top}/data", needs=_POSTGRESQL,
         before=("chmod 755 {top} && mkdir {top}/data && chown postgres {top}/data",),
         arguments={**_SECRET, "locale": "C.UTF-8", "checksums": True}),
    _postgres("language.present", "plpgsql", "DROP EXTENSION plpgsql;", maintenance_db="postgres"),
    _postgres("language.absent", "plpgsql", maintenance_db="postgres"),
    _postgres("privileges.present", "reader", "CREATE ROLE reader; CREATE TABLE t (i int);", **_GRANTED),
    _postgres("privileges.present", "reader", "CREATE ROLE reader; CREATE ROLE team;", object_name="team",
              object_type="group"),
    _postgres("privileges.absent", "reader", "CREATE ROLE reader; CREATE TABLE t (i int);"
              "GRANT SELECT, INSERT, UPDATE ON t TO reader;", **_GRANTED),
    _postgres("schema.present", "shelf", dbname="postgres", owner="postgres"),
    _postgres("schema.absent", "shelf", "CREATE SCHEMA shelf;", dbname="postgres"),
    _postgres("tablespace.present", "space", directory="{top}/space", options={"seq_page_cost": 1.5}),
    _postgres("tablespace.present", "space", "CREATE TABLESPACE space LOCATION '{top}/space'; CREATE ROLE other;",
              directory="{top}/space", owner="other"),
    _postgres("tablespace.absent", "space", "CREATE TABLESPACE space LOCATION '{top}/space';"),
    _postgres("user.present", "case", groups=["pg_monitor"], **_SECRET, createdb=True),
    _postgres("user.present", "case", "CREATE ROLE \"case\" LOGIN PASSWORD 'old';", **_SECRET, createdb=True,
              encrypted="scram-sha-256", valid_until="2040-01-02 03:04:05", groups=["pg_monitor"]),
    _postgres("user.absent", "case", "CREATE ROLE \"case\" LOGIN;"),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
