"""The state module `monit`: services that monit watches, or does not.

Behaviour: doc/ref/states/all/salt.states.monit.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.failure import StateFailed
from minion.machine.plan import Change, Machine, Plan, Reader, StateFunction
from minion.providers.monit import named, services, told


def monitor(machine: Reader, name: str) -> Plan:
    """monit watches the service."""
    if _is_monitored(machine, name):
        return Plan(comment=f"{name} is being being monitored.")
    return _ordered(
        name, "monitor", "Running",
        pending=f"Service {name} is set to be monitored.", done=f"{name} started to be monitored.",
    )  # fmt: skip


def unmonitor(machine: Reader, name: str) -> Plan:
    """monit does not watch the service."""
    if not _is_monitored(machine, name):
        return Plan(comment=f"{name} is not being monitored.")
    return _ordered(
        name, "unmonitor", "Not monitored",
        pending=f"Service {name} is set to be unmonitored.", done=f"{name} stopped being monitored.",
    )  # fmt: skip


def _is_monitored(machine: Reader, name: str) -> bool:
    found = services(machine).get(named(name))
    if found is None:
        raise StateFailed(f"{name} not found in configuration.")
    return found.monitored


def _ordered(name: str, order: str, reported: str, *, pending: str, done: str) -> Plan:
    def act(machine: Machine) -> None:
        told(machine, order, name)

    return Plan(changes=(Change(key=name, reported=reported, act=act),), pending=pending, done=done)


STATES: Mapping[str, StateFunction] = {"monitor": monitor, "unmonitor": unmonitor}
