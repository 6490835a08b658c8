"""The execution module `influxdb`: an InfluxDB server of versions 0.9 to 1.x, by its HTTP API.

Behaviour: salt.modules.influxdbmod of saltext-influxdb.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.execution.context import Context
from minion.providers.stores.influxdb import (
    Influxdb,
    InfluxdbLogin,
    creation,
    grouped,
    identifier,
    influxdb_at,
    policy_statement,
    privilege_of,
    query_statement,
    text,
)


def list_dbs(context: Context, login: InfluxdbLogin) -> list[dict[str, str]]:
    """All databases: their `name`."""
    return [{"name": name} for name in _server(context, login).databases()]


def db_exists(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Whether there is a database."""
    return name in _server(context, login).databases()


def create_db(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Make a database; false where there is one."""
    server = _server(context, login)
    return name not in server.databases() and _told(server, f"CREATE DATABASE {identifier(name)}")


def drop_db(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Delete a database; false where there is none."""
    server = _server(context, login)
    return name in server.databases() and _told(server, f"DROP DATABASE {identifier(name)}")


def list_users(context: Context, login: InfluxdbLogin) -> list[dict[str, Any]]:
    """All users: `user` and `admin`."""
    return _server(context, login).rows("SHOW USERS")


def user_exists(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Whether there is a user."""
    return _server(context, login).user(name) is not None


def user_info(context: Context, name: str, login: InfluxdbLogin) -> dict[str, Any] | None:
    """`user` and `admin`; null where there is none."""
    return _server(context, login).user(name)


def create_user(context: Context, name: str, passwd: str, admin: bool = False, *, login: InfluxdbLogin) -> bool:
    """Make a user, with all privileges or none; false where there is one."""
    server = _server(context, login)
    return server.user(name) is None and _told(server, creation(name, passwd, admin))


def set_user_password(context: Context, name: str, passwd: str, login: InfluxdbLogin) -> bool:
    """Set the password of a user; false where there is none."""
    server = _server(context, login)
    statement = f"SET PASSWORD FOR {identifier(name)} = {text(passwd)}"
    return server.user(name) is not None and _told(server, statement)


def grant_admin_privileges(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Give a user all privileges."""
    return _told(_server(context, login), f"GRANT ALL PRIVILEGES TO {identifier(name)}")


def revoke_admin_privileges(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Take all privileges from a user."""
    return _told(_server(context, login), f"REVOKE ALL PRIVILEGES FROM {identifier(name)}")


def remove_user(context: Context, name: str, login: InfluxdbLogin) -> bool:
    """Delete a user; false where there is none."""
    server = _server(context, login)
    return server.user(name) is not None and _told(server, f"DROP USER {identifier(name)}")


def get_retention_policy(context: Context, database: str, name: str, login: InfluxdbLogin) -> dict[str, Any]:
    """A retention policy of a database; empty where there is none."""
    return _policies(context, database, login).get(name, {})


def retention_policy_exists(context: Context, database: str, name: str, login: InfluxdbLogin) -> bool:
    """Whether a database has a retention policy."""
    return name in _policies(context, database, login)


def drop_retention_policy(context: Context, database: str, name: str, login: InfluxdbLogin) -> bool:
    """Delete a retention policy, with the data that are kept by it."""
    return _told(_server(context, login), f"DROP RETENTION POLICY {identifier(name)} ON {identifier(database)}")


def create_retention_policy(
    context: Context, database: str, name: str, duration: str, replication: int, default: bool = False, *,
    login: InfluxdbLogin,
) -> bool:  # fmt: skip
    """Make a retention policy: `duration` such as `7d`, or `INF`."""
    statement = policy_statement("CREATE", database, name, duration, replication, default=default)
    return _told(_server(context, login), statement)


def alter_retention_policy(
    context: Context, database: str, name: str, duration: str, replication: int, default: bool = False, *,
    login: InfluxdbLogin,
) -> bool:  # fmt: skip
    """Change a retention policy."""
    statement = policy_statement("ALTER", database, name, duration, replication, default=default)
    return _told(_server(context, login), statement)


def list_privileges(context: Context, name: str, login: InfluxdbLogin) -> dict[str, str]:
    """Database → what a user may do there: `read`, `write`, `all` or `no`."""
    return _server(context, login).privileges(name)


def grant_privilege(context: Context, database: str, privilege: str, username: str, login: InfluxdbLogin) -> bool:
    """Give a user `read`, `write` or `all` of a database."""
    place = f"{identifier(database)} TO {identifier(username)}"
    return _told(_server(context, login), f"GRANT {privilege_of(privilege)} ON {place}")


def revoke_privilege(context: Context, database: str, privilege: str, username: str, login: InfluxdbLogin) -> bool:
    """Take `read`, `write` or `all` of a database from a user."""
    place = f"{identifier(database)} FROM {identifier(username)}"
    return _told(_server(context, login), f"REVOKE {privilege_of(privilege)} ON {place}")


def continuous_query_exists(context: Context, database: str, name: str, login: InfluxdbLogin) -> bool:
    """Whether a database has a continuous query of this name."""
    return name in (_server(context, login).continuous_queries(database) or {})


def get_continuous_query(context: Context, database: str, name: str, login: InfluxdbLogin) -> dict[str, Any]:
    """`name` and `query`; empty where there is none."""
    return (_server(context, login).continuous_queries(database) or {}).get(name, {})


def create_continuous_query(
    context: Context, database: str, name: str, query: str, resample_time: str | None = None,
    coverage_period: str | None = None, *, login: InfluxdbLogin,
) -> bool:  # fmt: skip
    """Make a continuous query."""
    return _told(_server(context, login), query_statement(database, name, query, resample_time, coverage_period))


def drop_continuous_query(context: Context, database: str, name: str, login: InfluxdbLogin) -> bool:
    """Delete a continuous query."""
    return _told(_server(context, login), f"DROP CONTINUOUS QUERY {identifier(name)} ON {identifier(database)}")


def query(context: Context, database: str, query: str, login: InfluxdbLogin) -> list[dict[str, Any]]:
    """What statements give, for each: series → rows, or series → tags → rows."""
    found = _server(context, login).results(query, database)
    return [grouped(series) for series in found if series] if len(found) > 1 else [grouped(found[0])]


def _server(context: Context, login: InfluxdbLogin) -> Influxdb:
    return influxdb_at(context.machine, login)


def _policies(context: Context, database: str, login: InfluxdbLogin) -> dict[str, dict[str, Any]]:
    server = _server(context, login)
    found = server.retention_policies(database)
    if found is None:
        raise server.lacks_database(database)
    return found


def _told(server: Influxdb, statement: str) -> bool:
    server.results(statement)
    return True


_ALL = (
    alter_retention_policy, continuous_query_exists, create_continuous_query, create_db, create_retention_policy,
    create_user, db_exists, drop_continuous_query, drop_db, drop_retention_policy, get_continuous_query,
    get_retention_policy, grant_admin_privileges, grant_privilege, list_dbs, list_privileges, list_users, query,
    remove_user, retention_policy_exists, revoke_admin_privileges, revoke_privilege, set_user_password, user_exists,
    user_info,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _ALL}
