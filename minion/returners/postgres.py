"""PostgreSQL: the tables of Salt's returners `pgjsonb` and `postgres`.

Both have `jids`, `salt_returns` and `salt_events`; `pgjsonb` has columns of type jsonb, `postgres` of type text. The
tables are made by the administrator, as for Salt (docs/returners.md has them). A return of a jid and minion that the
table has already is passed over, so that one that is delivered twice is there once.
Source: salt/returners/pgjsonb.py, salt/returners/postgres.py.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from minion.returners.errors import EntryRefused, ReturnerError, library
from minion.returners.options import options_of, times

DEFAULTS = {
    "host": "localhost",
    "user": "salt",
    "pass": "salt",
    "passwd": None,
    "db": "salt",
    "port": 5432,
    "connect_timeout": 10,
    "sslmode": None,
    "sslcert": None,
    "sslkey": None,
    "sslrootcert": None,
    "sslcrl": None,
}
_STATEMENT_SECONDS = 20
_MOST_JOBS = 20_000
_FUN = 50
"""Characters of the column `fun`."""


class Postgres:
    """One of the two.

    Args:
        prefix: of its options: `returner.pgjsonb`, `returner.postgres`.
    """

    def __init__(self, prefix: str) -> None:
        self._prefix = prefix

    def returner(self, opts: Mapping[str, Any], ret: Mapping[str, Any]) -> None:
        """Keep a return."""
        fun, success = str(ret["fun"])[:_FUN], str(bool(ret.get("success", False))).lower()
        values = (fun, ret["jid"], _json(ret.get("return")), ret["id"], success, _json(ret), ret["jid"], ret["id"])
        with self._transaction(opts, ret) as cursor:
            # Two deliveries of one return are never at once: one process delivers what waits for this returner.
            cursor.execute(
                "INSERT INTO salt_returns (fun, jid, return, id, success, full_ret) SELECT %s, %s, %s, %s, %s, %s"
                " WHERE NOT EXISTS (SELECT 1 FROM salt_returns WHERE jid = %s AND id = %s)",
                values,
            )

    def event_return(self, opts: Mapping[str, Any], events: Sequence[Mapping[str, Any]]) -> None:
        """Keep events."""
        master = str(opts.get("id") or "controller")
        rows = [(str(event["tag"])[:255], _json(event["data"]), master) for event in events]
        with self._transaction(opts) as cursor:
            cursor.executemany("INSERT INTO salt_events (tag, data, master_id) VALUES (%s, %s, %s)", rows)

    def save_load(self, opts: Mapping[str, Any], jid: str, load: Mapping[str, Any]) -> None:
        """Keep what was asked for."""
        with self._transaction(opts) as cursor:
            cursor.execute(
                "INSERT INTO jids (jid, load) VALUES (%s, %s) ON CONFLICT (jid) DO UPDATE SET load = EXCLUDED.load",
                (jid, _json(load)),
            )

    def get_load(self, opts: Mapping[str, Any], jid: str) -> dict[str, Any]:
        """What was asked for; empty when the job is not known."""
        with self._transaction(opts) as cursor:
            cursor.execute("SELECT load FROM jids WHERE jid = %s", (jid,))
            row = cursor.fetchone()
        return {} if row is None else dict(_value(row[0]))

    def get_jid(self, opts: Mapping[str, Any], jid: str) -> dict[str, Any]:
        """Minion -> its return."""
        with self._transaction(opts) as cursor:
            cursor.execute("SELECT id, full_ret FROM salt_returns WHERE jid = %s", (jid,))
            return {minion: _value(ret) for minion, ret in cursor.fetchall()}

    def get_jids(self, opts: Mapping[str, Any]) -> dict[str, Any]:
        """Jid -> what was asked for."""
        with self._transaction(opts) as cursor:
            cursor.execute("SELECT jid, load FROM jids ORDER BY jid DESC LIMIT %s", (_MOST_JOBS,))
            return {jid: _value(load) for jid, load in cursor.fetchall()}

    @contextmanager
    def _transaction(self, opts: Mapping[str, Any], ret: Mapping[str, Any] | None = None) -> Iterator[Any]:
        psycopg = library("psycopg", "postgres")
        found = options_of(self._prefix, opts, DEFAULTS, ret)
        ssl = {name: value for name, value in found.items() if name.startswith("ssl") and value}
        try:
            with (
                psycopg.connect(
                    host=found["host"],
                    port=int(found["port"]),
                    dbname=found["db"],
                    user=found["user"],
                    password=found["passwd"] or found["pass"],
                    connect_timeout=max(2, int(times(found["connect_timeout"], 10.0))),
                    options=f"-c statement_timeout={_STATEMENT_SECONDS}s",
                    **ssl,
                ) as connection,
                connection.cursor() as cursor,
            ):
                yield cursor
        except psycopg.DataError as error:
            raise EntryRefused(f"postgres: {' '.join(str(error).split())}") from error
        except psycopg.Error as error:
            raise ReturnerError(f"postgres: {' '.join(str(error).split())}") from error


def _json(value: Any) -> str:
    """PostgreSQL has no NUL in text; Salt's data may."""
    return json.dumps(value, default=str).replace("\\u0000", "\\ufffd")


def _value(column: Any) -> Any:
    return json.loads(column) if isinstance(column, str) else column
