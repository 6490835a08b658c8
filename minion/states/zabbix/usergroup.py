"""The state module `zabbix_usergroup`.

Behaviour: doc/ref/states/all/salt.states.zabbix_usergroup.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.providers.zabbix.definitions import differing
from minion.states.zabbix.plans import created, deleted, deleting, exists, parted, updated


def present(machine: Reader, name: str, **given: Value) -> Plan:
    """There is such a group of users, with these properties: `gui_access`, `debug_mode`, `users_status`, `rights`, …"""
    connection, properties = parted(given)
    zabbix = Zabbix(machine, connection)
    found = zabbix.named("usergroup", name, **_parts(zabbix))
    if found is None:
        params = {"name": name, **properties}
        return created(f"User group {name}", name, lambda: zabbix.call("usergroup.create", params))
    different = differing(properties, found)
    if not different:
        return exists(f"User group {name}")
    params = {"usrgrpid": found["usrgrpid"], **different}
    return updated(f"User group {name}", different, lambda: zabbix.call("usergroup.update", params))


def _parts(zabbix: Zabbix) -> dict[str, Any]:
    if zabbix.version >= (6, 2):
        return {f"select{one}": "extend" for one in ("HostGroupRights", "TemplateGroupRights", "TagFilters")}
    return {"selectRights": "extend", "selectTagFilters": "extend"}


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such group of users."""
    zabbix = Zabbix(machine, given)
    found = zabbix.named("usergroup", name)
    return deleted(f"User group {name}", name, deleting(zabbix, "usergroup", found))


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
