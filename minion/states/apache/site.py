"""The state module `apache_site`: sites of Apache as Debian has them, on or off.

Behaviour: doc/ref/states/all/salt.states.apache_site.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Plan, Reader, StateFunction
from minion.providers.apache.switches import SITE
from minion.states.apache.plans import disabling, enabling


def enabled(machine: Reader, name: str) -> Plan:
    """The site is on."""
    return enabling(machine, SITE, name)


def disabled(machine: Reader, name: str) -> Plan:
    """The site is off."""
    return disabling(machine, SITE, name)


STATES: Mapping[str, StateFunction] = {"disabled": disabled, "enabled": enabled}
