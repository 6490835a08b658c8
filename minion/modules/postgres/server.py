"""Arguments by which the execution functions of `postgres` reach a server."""

from __future__ import annotations

from typing import NamedTuple

from minion.execution.context import Context
from minion.providers.postgres.session import PostgresLogin, PostgresSession, session_of


class DatabaseServer(NamedTuple):
    """A server, and a database of it; what is left out is in the configuration, as `postgres.host` and the like."""

    user: str | None = None
    """Of the database."""
    host: str | None = None
    port: int | None = None
    maintenance_db: str | None = None
    password: str | None = None

    def session(self, context: Context, runas: str | None) -> PostgresSession:
        """The session; `runas` is whom psql runs as."""
        login = PostgresLogin(
            user=runas, db_user=self.user, db_password=self.password, db_host=self.host, db_port=self.port
        )
        return session_of(context.machine, login, self.maintenance_db)


class ServerOfDatabase(NamedTuple):
    """A server, where the database is an argument of its own."""

    user: str | None = None
    host: str | None = None
    port: int | None = None
    password: str | None = None

    def session(self, context: Context, runas: str | None, database: str) -> PostgresSession:
        """The session."""
        server = DatabaseServer(self.user, self.host, self.port, database, self.password)
        return server.session(context, runas)


class PrivilegesServer(NamedTuple):
    """As `DatabaseServer`, in the order of the functions of privileges."""

    maintenance_db: str | None = None
    user: str | None = None
    host: str | None = None
    port: int | None = None
    password: str | None = None

    def session(self, context: Context, runas: str | None) -> PostgresSession:
        """The session."""
        server = DatabaseServer(self.user, self.host, self.port, self.maintenance_db, self.password)
        return server.session(context, runas)


class SchemaServer(NamedTuple):
    """As `ServerOfDatabase`, with the names of the functions of schemas; `user` is whom psql runs as."""

    user: str | None = None
    db_user: str | None = None
    db_password: str | None = None
    db_host: str | None = None
    db_port: int | None = None

    def session(self, context: Context, database: str) -> PostgresSession:
        """The session."""
        return session_of(context.machine, PostgresLogin(*self), database)


AS_CONFIGURED = DatabaseServer()
SCHEMAS_AS_CONFIGURED = SchemaServer()
PRIVILEGES_AS_CONFIGURED = PrivilegesServer()
"""Defaults for parameters that follow others with one."""
