"""Functions of `mysql` about the server itself."""

from __future__ import annotations

from typing import Any

from minion.execution.context import Context
from minion.providers.mysql.accounts import server_kind
from minion.providers.mysql.session import MysqlLogin, session_of
from minion.providers.mysql.sql import literal, word

_NO_REPLICA, _BROKEN = -1, -2


def version(context: Context, login: MysqlLogin) -> str:
    """Version of the server."""
    return server_kind(context.machine, session_of(context.machine, login)).version


def status(context: Context, login: MysqlLogin) -> dict[str, Any]:
    """What the server counts, by name."""
    return {str(row["Variable_name"]): row["Value"] for row in _rows(context, "SHOW STATUS", login)}


def showvariables(context: Context, login: MysqlLogin) -> list[dict[str, Any]]:
    """Settings of the session, each with its name."""
    return _rows(context, "SHOW VARIABLES", login)


def showglobal(context: Context, login: MysqlLogin) -> list[dict[str, Any]]:
    """Settings of the server, each with its name."""
    return _rows(context, "SHOW GLOBAL VARIABLES", login)


def processlist(context: Context, login: MysqlLogin) -> list[dict[str, Any]]:
    """What the server does for whom."""
    return _rows(context, "SHOW FULL PROCESSLIST", login)


def get_master_status(context: Context, login: MysqlLogin) -> dict[str, Any]:
    """How far the server's log for its replicas is; empty where it keeps none."""
    return next(iter(_rows(context, "SHOW MASTER STATUS", login)), {})


def get_slave_status(context: Context, login: MysqlLogin) -> dict[str, Any]:
    """How the server follows another one; empty where it follows none."""
    return next(iter(_rows(context, "SHOW SLAVE STATUS", login)), {})


def slave_lag(context: Context, login: MysqlLogin) -> int:
    """Seconds by which the server is behind the one that it follows; -1: it follows none, -2: it has stopped to."""
    found = get_slave_status(context, login)
    if not found:
        return _NO_REPLICA
    return int(found["Seconds_Behind_Master"] or 0) if found["Slave_IO_Running"] == "Yes" else _BROKEN


def plugins_list(context: Context, login: MysqlLogin) -> list[dict[str, Any]]:
    """The plugins: name and status."""
    return [{"name": row["Name"], "status": row["Status"]} for row in _rows(context, "SHOW PLUGINS", login)]


def plugin_status(context: Context, name: str, login: MysqlLogin) -> str:
    """`ACTIVE`, `INACTIVE`, …; empty where there is no such plugin."""
    query = f"SELECT PLUGIN_STATUS AS s FROM information_schema.PLUGINS WHERE PLUGIN_NAME = {literal(name)}"
    return "".join(str(row["s"]) for row in _rows(context, query, login))


def plugin_add(context: Context, name: str, soname: str | None = None, *, login: MysqlLogin) -> bool:
    """Have the server load a plugin from a file of its own folder: `soname`, or its name with `.so`."""
    if not plugin_status(context, name, login):
        statement = f"INSTALL PLUGIN {word(name, 'plugin')} SONAME {literal(soname or f'{name}.so')}"
        session_of(context.machine, login).carry_out(context.machine, [statement], f"Failed to add plugin {name}")
    return True


def plugin_remove(context: Context, name: str, login: MysqlLogin) -> bool:
    """Have the server do without a plugin."""
    if plugin_status(context, name, login):
        statement = f"UNINSTALL PLUGIN {word(name, 'plugin')}"
        session_of(context.machine, login).carry_out(context.machine, [statement], f"Failed to remove plugin {name}")
    return True


def _rows(context: Context, query: str, login: MysqlLogin) -> list[dict[str, Any]]:
    return [dict(row) for row in session_of(context.machine, login).rows(context.machine, query)]
