"""The state module `zabbix_hostgroup`.

Behaviour: doc/ref/states/all/salt.states.zabbix_hostgroup.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.states.zabbix.plans import created, deleted, deleting, exists, parted


def present(machine: Reader, name: str, **given: Value) -> Plan:
    """There is such a group of hosts."""
    connection, more = parted(given)
    zabbix = Zabbix(machine, connection)
    if zabbix.named("hostgroup", name):
        return exists(f"Host group {name}")
    return created(f"Host group {name}", name, lambda: zabbix.call("hostgroup.create", {"name": name, **more}))


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such group of hosts."""
    zabbix = Zabbix(machine, given)
    found = zabbix.named("hostgroup", name)
    return deleted(f"Host group {name}", name, deleting(zabbix, "hostgroup", found))


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
