"""The state module `zabbix_valuemap`: what values mean.

Behaviour: doc/ref/states/all/salt.states.zabbix_valuemap.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from minion.arguments.types import Map
from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.providers.zabbix.definitions import differing, filled
from minion.states.zabbix.plans import defined, deleting, parted, undefined


def present(machine: Reader, name: str, params: Map, **given: Value) -> Plan:
    """There is a value map with this definition; from Zabbix 5.4 on it belongs to a host or template, its `hostid`."""
    connection, _ = parted(given)
    zabbix = Zabbix(machine, connection)
    wanted = filled(zabbix, {**params, "name": name})
    owner: dict[str, Any] = {"hostids": [wanted["hostid"]]} if "hostid" in wanted else {}
    found = zabbix.named("valuemap", name, selectMappings="extend", **owner)
    if found is None:
        return defined(_what(name), name, False, {}, lambda: zabbix.call("valuemap.create", wanted))
    different = differing(wanted, found)
    ask = {**different, "valuemapid": found["valuemapid"]}
    return defined(_what(name), name, True, different, lambda: zabbix.call("valuemap.update", ask))


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such value map."""
    zabbix = Zabbix(machine, given)
    found = zabbix.named("valuemap", name)
    return undefined(_what(name), name, deleting(zabbix, "valuemap", found))


def _what(name: str) -> str:
    return f'Zabbix Value map "{name}"'


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
