"""The execution module `postgres`: what a PostgreSQL server holds, and changes of it by the code of the states.

False says that there is nothing to do; where the server refuses something, the function fails with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.postgres import clusters, databases, extensions, privileges, roles

FUNCTIONS: Mapping[str, Any] = {
    "available_extensions": extensions.available_extensions,
    "cluster_create": clusters.cluster_create,
    "cluster_exists": clusters.cluster_exists,
    "cluster_list": clusters.cluster_list,
    "cluster_remove": clusters.cluster_remove,
    "create_extension": extensions.create_extension,
    "create_metadata": extensions.create_metadata,
    "datadir_exists": clusters.datadir_exists,
    "datadir_init": clusters.datadir_init,
    "db_alter": databases.db_alter,
    "db_create": databases.db_create,
    "db_exists": databases.db_exists,
    "db_list": databases.db_list,
    "db_remove": databases.db_remove,
    "drop_extension": extensions.drop_extension,
    "get_available_extension": extensions.get_available_extension,
    "get_installed_extension": extensions.get_installed_extension,
    "group_create": roles.group_create,
    "group_remove": roles.group_remove,
    "group_update": roles.group_update,
    "has_privileges": privileges.has_privileges,
    "installed_extensions": extensions.installed_extensions,
    "is_available_extension": extensions.is_available_extension,
    "is_installed_extension": extensions.is_installed_extension,
    "language_create": databases.language_create,
    "language_exists": databases.language_exists,
    "language_list": databases.language_list,
    "language_remove": databases.language_remove,
    "owner_to": databases.owner_to,
    "privileges_grant": privileges.privileges_grant,
    "privileges_list": privileges.privileges_list,
    "privileges_revoke": privileges.privileges_revoke,
    "psql_query": databases.psql_query,
    "role_get": roles.role_get,
    "schema_create": databases.schema_create,
    "schema_exists": databases.schema_exists,
    "schema_get": databases.schema_get,
    "schema_list": databases.schema_list,
    "schema_remove": databases.schema_remove,
    "tablespace_alter": databases.tablespace_alter,
    "tablespace_create": databases.tablespace_create,
    "tablespace_exists": databases.tablespace_exists,
    "tablespace_list": databases.tablespace_list,
    "tablespace_remove": databases.tablespace_remove,
    "user_create": roles.user_create,
    "user_exists": roles.user_exists,
    "user_list": roles.user_list,
    "user_remove": roles.user_remove,
    "user_update": roles.user_update,
    "version": databases.version,
}
