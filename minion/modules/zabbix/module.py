"""The execution module `zabbix`: objects of a Zabbix server, by the API of its frontend.

Behaviour: doc/ref/modules/all/salt.modules.zabbix. All functions take `_connection_user`, `_connection_password` and
`_connection_url`; what the server refuses is an error with its words.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.modules.zabbix import hosts, objects, users

_ALL = (
    hosts.host_create, hosts.host_delete, hosts.host_exists, hosts.host_get, hosts.host_inventory_get,
    hosts.host_inventory_set, hosts.host_list, hosts.host_update, hosts.hostgroup_create, hosts.hostgroup_delete,
    hosts.hostgroup_exists, hosts.hostgroup_get, hosts.hostgroup_list, hosts.hostgroup_update,
    hosts.hostinterface_create, hosts.hostinterface_delete, hosts.hostinterface_get, hosts.hostinterface_update,
    objects.apiinfo_version, objects.compare_params, objects.configuration_import, objects.get_object_id_by_params,
    objects.get_zabbix_id_mapper, objects.mediatype_create, objects.mediatype_delete, objects.mediatype_get,
    objects.mediatype_update, objects.run_query, objects.substitute_params, objects.template_get,
    objects.usermacro_create, objects.usermacro_createglobal, objects.usermacro_delete,
    objects.usermacro_deleteglobal, objects.usermacro_get, objects.usermacro_update, objects.usermacro_updateglobal,
    users.user_create, users.user_delete, users.user_exists, users.user_get, users.user_getmedia, users.user_list,
    users.user_update, users.usergroup_create, users.usergroup_delete, users.usergroup_exists, users.usergroup_get,
    users.usergroup_list, users.usergroup_update,
)  # fmt: skip

FUNCTIONS: Mapping[str, Any] = {function.__name__: function for function in _ALL}
