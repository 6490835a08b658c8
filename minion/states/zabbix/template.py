"""The state module `zabbix_template`: whether there is a template.

Behaviour: doc/ref/states/all/salt.states.zabbix_template.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Plan, Reader, StateFunction, Value
from minion.providers.zabbix.api import Zabbix
from minion.states.zabbix.plans import deleting, undefined


def is_present(machine: Reader, name: str, **given: Value) -> Plan:
    """Fails where there is no such template."""
    found = Zabbix(machine, given).named("template", name)
    said = f'Zabbix Template "{name}" {"exists" if found else "does not exist"}.'
    return Plan(comment=said, result=found is not None)


def absent(machine: Reader, name: str, **given: Value) -> Plan:
    """There is no such template; hosts keep what it brought."""
    zabbix = Zabbix(machine, given)
    return undefined(f'Zabbix Template "{name}"', name, deleting(zabbix, "template", zabbix.named("template", name)))


STATES: Mapping[str, StateFunction] = {"absent": absent, "is_present": is_present}
