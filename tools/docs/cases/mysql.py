"""Cases of the states of MySQL and MariaDB: on a MariaDB server of their own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tools.docs.cases.case import BESIDE, SERVED, Case, serving

_SOCKET = f"{BESIDE}/s"
_DATA = f"--no-defaults --datadir={BESIDE}/data --innodb-log-file-size=4M --user=root"
_MADE = f"mariadb-install-db {_DATA} --skip-test-db --auth-root-authentication-method=normal"
_SERVER = serving(f"mariadbd {_DATA} --socket={_SOCKET} --skip-networking", f"mariadb -S {_SOCKET} -u root -e ''")
_JOE = "CREATE USER joe@localhost IDENTIFIED BY 'sesame'"
_PASSWORD = {"password": "sesame"}
_DATABASE = "CREATE DATABASE d; CREATE TABLE d.t (n int); INSERT INTO d.t VALUES (7)"
_GRANT = {"grant": "select, insert", "database": "d.*", "user": "joe"}


def _mysql(fun: str, name: str, sql: str = "", files: Mapping[str, str] = {}, **arguments: Any) -> Case:
    """A case on a server of its own, in which these statements were carried out."""
    return Case(
        fun=f"mysql_{fun}",
        name=name,
        arguments={**arguments, "connection_unix_socket": _SOCKET, "connection_user": "root"},
        files=files,
        before=(_MADE, _SERVER, f'mariadb -S {_SOCKET} -u root -e "{sql}"'),
        after=(SERVED,),
        needs=("mariadb-server",),
    )


CASES: tuple[Case, ...] = (
    _mysql("database.present", "d", character_set="utf8mb4"),
    _mysql("database.present", "d", "CREATE DATABASE d CHARACTER SET latin1", character_set="utf8mb4",
           collate="utf8mb4_unicode_ci"),
    _mysql("database.absent", "d", _DATABASE),
    _mysql("user.present", "joe", **_PASSWORD),
    _mysql("user.present", "joe", _JOE.replace("sesame", "other"), **_PASSWORD),
    _mysql("user.present", "joe", allow_passwordless=True),
    _mysql("user.absent", "joe", _JOE),
    _mysql("grants.present", "g", f"{_DATABASE}; {_JOE}", **_GRANT),
    _mysql("grants.absent", "g", f"{_DATABASE}; {_JOE}; GRANT SELECT, INSERT ON d.* TO joe@localhost", **_GRANT),
    _mysql("query.run", "q", _DATABASE, database="d", query="SELECT n FROM t", output="{top}/out", overwrite=False),
    _mysql("query.run_file", "q", _DATABASE, {"q.sql": "SELECT n FROM t;\n"}, database="d",
           query_file="{top}/q.sql", output="{top}/out", overwrite=False),
)  # fmt: skip
WITHOUT: Mapping[str, str] = {}
