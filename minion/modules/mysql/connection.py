"""How the functions of `mysql` reach a server."""

from __future__ import annotations

from typing import Annotated, NamedTuple

from minion.arguments.types import Ignored, Map, Value
from minion.execution.context import Context
from minion.providers.mysql.session import MysqlLogin, MysqlSession, session_of

_CONVERSIONS = Ignored("values are texts, as the server shows them")
_CHARSET = Ignored("texts go to the server and come back as UTF-8, whatever the tables hold")


class MysqlConnection(NamedTuple):
    """Arguments that all functions have; what is none is taken from the options `mysql.*`."""

    connection_host: str | None = None
    connection_user: str | None = None
    connection_pass: str | None = None
    connection_port: int | None = None
    connection_db: str | None = None
    connection_unix_socket: str | None = None
    connection_default_file: str | None = None
    connection_default_group: str | None = None
    connection_ssl: Map = {}  # noqa: RUF012  (a default of a NamedTuple, which nobody changes)
    connection_charset: Annotated[Value, _CHARSET] = None
    connection_conv: Annotated[Value, _CONVERSIONS] = None

    def session(self, context: Context) -> MysqlSession:
        """The session that they ask for."""
        return session_of(context.machine, MysqlLogin(*self))
