"""The state module `apache_module`: modules of Apache as Debian has them, on or off.

Behaviour: doc/ref/states/all/salt.states.apache_module.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.apache.switches import MODULE
from minion.states.apache.plans import disabling, enabling


def enabled(machine: Reader, name: str) -> Plan:
    """The module is on, and those that it depends on."""
    return enabling(machine, MODULE, name)


def disabled(machine: Reader, name: str) -> Plan:
    """The module is off. It fails where another that is on depends on it, or Debian's server needs it."""
    return disabling(machine, MODULE, name)


STATES: Mapping[str, StateFunction] = {"disabled": disabled, "enabled": enabled}
