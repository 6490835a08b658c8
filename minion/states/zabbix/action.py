"""The state module `zabbix_action`: what Zabbix does when something happens.

Behaviour: doc/ref/states/all/salt.states.zabbix_action.
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
    """There is an action with this definition; ids may be `{query_object: hostgroup, query_name: Linux servers}`."""
    connection, _ = parted(given)
    zabbix = Zabbix(machine, connection)
    wanted = filled(zabbix, {"operations": [], **params, "name": name})
    found = zabbix.named("action", name, **_parts(zabbix))
    if found is None:
        return defined(_what(name), name, False, {}, lambda: zabbix.call("action.create", wanted))
    different = differing({key: one for key, one in wanted.items() if key != "eventsource"}, found)
    ask: dict[str, Any] = {**different, "actionid": found["actionid"]}
    return defined(_what(name), name, True, different, lambda: zabbix.call("action.update", ask))


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such action."""
    zabbix = Zabbix(machine, given)
    found = zabbix.named("action", name)
    return undefined(_what(name), name, deleting(zabbix, "action", found))


def _parts(zabbix: Zabbix) -> dict[str, str]:
    update = "UpdateOperations" if zabbix.version >= (6, 0) else "AcknowledgeOperations"
    return {f"select{one}": "extend" for one in ("Operations", "Filter", "RecoveryOperations", update)}


def _what(name: str) -> str:
    return f'Zabbix Action "{name}"'


STATES: Mapping[str, StateFunction] = {"absent": absent, "present": present}
