"""The state module `apache_conf`: configurations of Apache as Debian has them, on or off.

Behaviour: doc/ref/states/all/salt.states.apache_conf.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.apache.switches import CONF
from minion.states.apache.plans import disabling, enabling


def enabled(machine: Reader, name: str) -> Plan:
    """The configuration is on."""
    return enabling(machine, CONF, name)


def disabled(machine: Reader, name: str) -> Plan:
    """The configuration is off."""
    return disabling(machine, CONF, name)


STATES: Mapping[str, StateFunction] = {"disabled": disabled, "enabled": enabled}
