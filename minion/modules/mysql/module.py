"""The execution module `mysql`: a MySQL or MariaDB server, by its own client program.

Behaviour: doc/ref/modules/all/salt.modules.mysql. What fails is an error with the server's words, where
Salt's functions return something empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.mysql import databases, server, users

_ALL = (
    databases.alter_db, databases.db_check, databases.db_create, databases.db_exists, databases.db_get,
    databases.db_list, databases.db_optimize, databases.db_remove, databases.db_repair, databases.db_tables,
    databases.file_query, databases.query, databases.quote_identifier, server.get_master_status,
    server.get_slave_status, server.plugin_add, server.plugin_remove, server.plugin_status, server.plugins_list,
    server.processlist, server.showglobal, server.showvariables, server.slave_lag, server.status, server.version,
    users.grant_add, users.grant_exists, users.grant_revoke, users.tokenize_grant, users.user_chpass,
    users.user_create, users.user_exists, users.user_grants, users.user_info, users.user_list, users.user_remove,
    users.verify_login,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _ALL}
