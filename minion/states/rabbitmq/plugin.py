"""The state module `rabbitmq_plugin`.

Behaviour: doc/ref/states/all/salt.states.rabbitmq_plugin. A plugin counts as enabled where another one needs it. The
program works without a running broker, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from minion.machine.plan import Machine, Plan, Reader, StateFunction
from minion.providers.rabbitmq.broker import Broker, RabbitmqCaller
from minion.states.rabbitmq.plans import turning


def enabled(machine: Reader, name: str, *, caller: RabbitmqCaller) -> Plan:
    """The plugin is enabled."""
    broker = Broker(caller)
    if name in broker.plugins(machine, enabled=True):
        return Plan(comment=f"Plugin '{name}' is already enabled.")
    known = broker.plugins(machine, enabled=False)
    if name not in known:
        raise broker.lacking(f"Error: there is no plugin {name}: there are {', '.join(known)}")
    return _switching(broker, "enable", "", name, name)


def disabled(machine: Reader, name: str, *, caller: RabbitmqCaller) -> Plan:
    """The plugin is not enabled; nor are those that need it."""
    broker = Broker(caller)
    if name not in broker.plugins(machine, enabled=True):
        return Plan(comment=f"Plugin '{name}' is already disabled.")
    return _switching(broker, "disable", name, "", name)


def _switching(broker: Broker, verb: str, old: str, new: str, name: str) -> Plan:
    def act(machine: Machine) -> None:
        broker.switched(machine, verb, name)

    return turning(
        old, new, act, pending=f"Plugin '{name}' is set to be {verb}d.", done=f"Plugin '{name}' was {verb}d."
    )


STATES: Mapping[str, StateFunction] = {"disabled": disabled, "enabled": enabled}
